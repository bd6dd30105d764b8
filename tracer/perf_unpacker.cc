#include "tracer/perf_unpacker.h"

namespace thermocline {

Status PerfUnpacker::unpack(std::span<const std::uint8_t> packed,
                            std::vector<std::uint8_t>& to) {
  constexpr std::size_t kStep = std::size_t{128} << 10;
  if (!stream_) stream_ = unpack_zstandard();
  const auto before = to.size();
  for (bool full = true; !packed.empty() || full;) {
    const auto at = to.size();
    if (at - before >= kMaxBytes) {
      return corrupt("a compressed record unpacks to more than " +
                     std::to_string(kMaxBytes) + " bytes");
    }
    to.resize(at + kStep);
    const auto got = stream_->step(packed, std::span(to).subspan(at));
    if (!got) return corrupt("a compressed record " + got.error().message);
    to.resize(at + *got);
    full = *got == kStep;
  }
  return {};
}

}  // namespace thermocline
