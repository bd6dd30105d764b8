#include "tracer/perf_unpacker.h"

#include <zstd.h>

#include <algorithm>

namespace thermocline {
namespace {

constexpr int kMaxWindowLog = 23;
constexpr std::size_t kStep = std::size_t{128} << 10;

}  // namespace

struct PerfUnpacker::Context {
  Context() {
    CHECK(zstd != nullptr);
    ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { ZSTD_freeDStream(zstd); }
  ZSTD_DStream* zstd = ZSTD_createDStream();
};

PerfUnpacker::PerfUnpacker() = default;
PerfUnpacker::PerfUnpacker(PerfUnpacker&&) noexcept = default;
PerfUnpacker& PerfUnpacker::operator=(PerfUnpacker&&) noexcept = default;
PerfUnpacker::~PerfUnpacker() = default;

Status PerfUnpacker::unpack(std::span<const std::uint8_t> packed,
                            std::vector<std::uint8_t>& to) {
  if (!context_) context_ = std::make_unique<Context>();
  const auto before = to.size();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (bool full = true; in.pos < in.size || full;) {
    const auto at = to.size();
    if (at - before >= kMaxBytes) {
      return corrupt("a compressed record unpacks to more than " +
                     std::to_string(kMaxBytes) + " bytes");
    }
    to.resize(at + kStep);
    ZSTD_outBuffer out{to.data() + at, kStep, 0};
    const auto code = ZSTD_decompressStream(context_->zstd, &out, &in);
    to.resize(at + out.pos);
    if (ZSTD_isError(code) != 0) {
      return corrupt(std::string("a compressed record does not unpack: ") +
                     ZSTD_getErrorName(code));
    }
    full = out.pos == kStep;
    if (!full && out.pos == 0 && in.pos < in.size && code == 0) break;
  }
  return {};
}

}  // namespace thermocline
