#include "training/elastic/restore_for_all.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

// A length, what the pieces are (CBOR), and their bytes.
using Packed = std::vector<std::byte>;

Packed pack(const Restored& from) {
  json told{{"step", from.step},
            {"sequence", from.sequence},
            {"slot", from.slot},
            {"pieces", json::array()}};
  std::size_t bytes = 0;
  for (const Piece& piece : from.pieces) {
    told["pieces"].push_back(
        {piece.name, piece.type, piece.shape, piece.bytes.size()});
    bytes += piece.bytes.size();
  }
  const auto head = json::to_cbor(told);
  const std::uint64_t length = head.size();
  Packed out(sizeof length + head.size() + bytes);
  std::memcpy(out.data(), &length, sizeof length);
  std::memcpy(out.data() + sizeof length, head.data(), head.size());
  std::size_t at = sizeof length + head.size();
  for (const Piece& piece : from.pieces) {
    if (piece.bytes.empty()) continue;
    std::memcpy(out.data() + at, piece.bytes.data(), piece.bytes.size());
    at += piece.bytes.size();
  }
  return out;
}

SharedCheckpoint unpack(Packed packed) {
  SharedCheckpoint out;
  out.bytes = std::move(packed);
  std::uint64_t length = 0;
  std::memcpy(&length, out.bytes.data(), sizeof length);
  const auto* whole = reinterpret_cast<const std::uint8_t*>(out.bytes.data());
  const auto* head = whole + sizeof length;
  const auto told = json::from_cbor(head, head + length);
  out.restored.step = told["step"].get<std::uint64_t>();
  out.restored.sequence = told["sequence"].get<std::uint64_t>();
  out.restored.slot = told["slot"].get<std::uint32_t>();
  std::size_t at = sizeof length + length;
  for (const auto& one : told["pieces"]) {
    const auto bytes = one[3].get<std::size_t>();
    out.restored.pieces.push_back(
        {one[0].get<std::string>(), one[1].get<std::string>(),
         one[2].get<std::vector<std::int64_t>>(), ByteSpan(whole + at, bytes)});
    at += bytes;
  }
  return out;
}

}  // namespace

Result<std::optional<SharedCheckpoint>> restore_for_all(Ranks& ranks,
                                                        CheckpointPool* pool) {
  const bool first = ranks.rank() == 0;
  Packed packed;
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
  if (bytes < 0) return io("rank 0 could not restore the checkpoint");
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
  out.restored.damage = std::move(damage);
  return std::optional(std::move(out));
}

}  // namespace thermocline
