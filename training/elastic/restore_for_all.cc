#include "training/elastic/restore_for_all.h"

#include <algorithm>

namespace thermocline {

Result<std::optional<SharedCheckpoint>> restore_for_all(Ranks& ranks,
                                                        CheckpointPool* pool) {
  const bool first = ranks.rank() == 0;
  std::vector<std::byte> packed;
  std::vector<std::string> damage;
  std::optional<Error> trouble;
  if (first) {
    CHECK(pool != nullptr);
    auto back = pool->restore();
    if (back) {
      packed = pack(*back);
      damage = back->damage;
    } else if (back.error().code != Error::Code::kNotFound) {
      trouble = back.error();
    }
  }
  // Rank 0's word: bytes, 0 for none yet, -1 for trouble.
  const auto all =
      ranks.gather(trouble ? -1 : static_cast<std::int64_t>(packed.size()));
  if (!all) return all.error();
  if (trouble) return *trouble;
  const std::int64_t bytes = (*all)[0];
  if (bytes < 0) {
    return io("rank 0 could not restore the checkpoint; see what it said");
  }
  if (bytes == 0) return std::optional<SharedCheckpoint>{};
  auto window = ranks.window_over(packed);
  if (!window) return window.error().within("checkpoint");
  if (!first) {
    packed.resize(static_cast<std::size_t>(bytes));
    constexpr std::size_t kMost = std::size_t{1} << 30;  // MPI counts in ints
    for (std::size_t at = 0; at < packed.size(); at += kMost) {
      const std::size_t some = std::min(kMost, packed.size() - at);
      (*window)->get(0, at, std::span(packed).subspan(at, some));
    }
  }
  if (auto ok = (*window)->flush(); !ok) return ok.error();
  window->reset();  // all have theirs
  auto out = unpack(std::move(packed));
  if (!out) return out.error();
  out->restored.damage = std::move(damage);
  return std::optional(*std::move(out));
}

}  // namespace thermocline
