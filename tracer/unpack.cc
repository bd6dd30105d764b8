#include "tracer/unpack.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>

namespace thermocline {
namespace {

using In = std::span<const std::uint8_t>;
using Out = std::span<std::uint8_t>;

class Plain final : public Unpack {
 public:
  Result<std::size_t> step(In& in, Out out) override {
    const auto count = std::min(in.size(), out.size());
    std::copy_n(in.begin(), count, out.begin());
    in = in.subspan(count);
    return count;
  }
  bool may_end() const override { return true; }
};

// gzip and zlib, several of them in a row included.
class Zlib final : public Unpack {
 public:
  Zlib() {
    constexpr int kEitherHeader = 32;
    CHECK(inflateInit2(&stream_, MAX_WBITS + kEitherHeader) == Z_OK);
  }
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  ~Zlib() override { inflateEnd(&stream_); }

  Result<std::size_t> step(In& in, Out out) override {
    if (ended_ && !in.empty()) {
      CHECK(inflateReset(&stream_) == Z_OK);
      ended_ = false;
    }
    stream_.next_in = const_cast<Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(out.size());
    const int code = ended_ ? Z_BUF_ERROR : inflate(&stream_, Z_NO_FLUSH);
    in = in.last(stream_.avail_in);
    if (code == Z_STREAM_END) {
      ended_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      const char* why = stream_.msg == nullptr ? "bad data" : stream_.msg;
      return corrupt(std::string("does not unpack: ") + why);
    }
    return out.size() - stream_.avail_out;
  }
  bool may_end() const override { return ended_; }

 private:
  z_stream stream_{};
  bool ended_ = false;
};

class Zstd final : public Unpack {
 public:
  Zstd() {
    CHECK(stream_ != nullptr);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  Result<std::size_t> step(In& in, Out out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const auto code = ZSTD_decompressStream(stream_, &to, &from);
    in = in.subspan(from.pos);
    if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge) {
      return corrupt(
          "does not unpack: its window is larger than 8 MiB; pack it without "
          "--ultra and --long");
    }
    if (ZSTD_isError(code) != 0) {
      return corrupt(std::string("does not unpack: ") +
                     ZSTD_getErrorName(code));
    }
    if (from.pos > 0 || to.pos > 0) ended_ = code == 0;
    return to.pos;
  }
  bool may_end() const override { return ended_; }

 private:
  static constexpr int kMaxWindowLog = 23;
  ZSTD_DStream* stream_ = ZSTD_createDStream();
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Unpack> make_unpack(In first) {
  const auto begins = [&](std::initializer_list<int> magic) {
    return first.size() >= 4 &&
           std::equal(magic.begin(), magic.end(), first.begin());
  };
  if (begins({0x1f, 0x8b, 8})) return std::make_unique<Zlib>();
  // zlib's own header: deflate with a 32 KiB window; a multiple of 31.
  if (begins({0x78}) && (first[0] * 256 + first[1]) % 31 == 0) {
    return std::make_unique<Zlib>();
  }
  if (begins({0x28, 0xb5, 0x2f, 0xfd})) return unpack_zstandard();
  return std::make_unique<Plain>();
}

std::unique_ptr<Unpack> unpack_zstandard() { return std::make_unique<Zstd>(); }

}  // namespace thermocline
