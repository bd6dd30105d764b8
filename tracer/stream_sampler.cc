#include "tracer/stream_sampler.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tracer/perf_stream.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kChunkBytes = 256 * 1024;
// Then the caller has a turn.
constexpr std::size_t kBytesPerRead = 4 << 20;
constexpr std::size_t kSamplesPerRead = 1 << 16;

class StreamSampler final : public Sampler {
 public:
  StreamSampler(std::string path, int descriptor, mode_t mode)
      : path_(std::move(path)),
        descriptor_(descriptor),
        device_(S_ISCHR(mode)),
        fifo_(S_ISFIFO(mode)),
        chunk_(kChunkBytes) {}
  ~StreamSampler() override { close(descriptor_); }

  Result<SampleBatch> read(milliseconds timeout) override {
    SampleBatch batch;
    batch.samples.reserve(samples_before_);
    if (ended_) {
      batch.ended = true;
      return batch;
    }
    auto heard = drain(batch);
    if (heard && *heard == 0 && !ended_ && timeout > milliseconds(0)) {
      wait(timeout);
      heard = drain(batch);
    }
    if (!heard) return heard.error();
    batch.ended = ended_;
    samples_before_ = batch.samples.size();
    return batch;
  }
  int descriptor() const override { return descriptor_; }
  std::string clock() const override {
    return stream_.decoder().virtual_clock() ? "virtual" : "monotonic";
  }
  std::string kind() const override { return "stream"; }
  bool unattributed() const override {
    return stream_.decoder().unattributed();
  }

 private:
  // Waits for input. A device without a host, or a FIFO that no writer has
  // opened yet, is "ready" all the time: then time is let pass.
  void wait(milliseconds timeout) const {
    const auto until = std::chrono::steady_clock::now() + timeout;
    pollfd ready{descriptor_, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(timeout.count()));
    if (count <= 0 || (ready.revents & POLLIN) != 0 || !device_) return;
    const auto left = std::chrono::duration_cast<milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() > 0) {
      ::poll(nullptr, 0, static_cast<int>(left.count()));
    }
  }

  // Reads all that is there, up to kBytesPerRead. Returns: bytes read.
  Result<std::size_t> drain(SampleBatch& batch) {
    std::size_t heard = 0;
    while (heard < kBytesPerRead && batch.samples.size() < kSamplesPerRead) {
      const auto some = ::read(descriptor_, chunk_.data(), chunk_.size());
      if (some < 0 && errno == EINTR) continue;
      if (some < 0 && errno == EAGAIN) break;
      if (some < 0) return io(path_ + ": " + std::strerror(errno));
      if (some == 0) {
        ended_ = at_end();
        break;
      }
      const auto bytes = static_cast<std::size_t>(some);
      auto fed = stream_.feed({chunk_.data(), bytes}, batch);
      if (!fed) return fed.error().within(path_);
      heard += bytes;
    }
    // A stream that stops within a record was cut.
    if (ended_ && stream_.held() != 0) ++batch.malformed;
    return heard;
  }

  bool at_end() const {
    if (device_) return false;
    if (!fifo_) return true;
    // The kernel reports a hang-up only once a writer has been and gone.
    pollfd state{descriptor_, POLLIN, 0};
    ::poll(&state, 1, 0);
    return (state.revents & POLLHUP) != 0 && (state.revents & POLLIN) == 0;
  }

  const std::string path_;
  const int descriptor_;
  const bool device_;
  const bool fifo_;
  bool ended_ = false;
  std::size_t samples_before_ = 0;  // in the batch before; as many may come
  PerfStream stream_;
  std::vector<std::uint8_t> chunk_;
};

}  // namespace

Result<std::unique_ptr<Sampler>> open_stream(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    const std::string why = path + ": " + std::strerror(errno);
    if (errno == ENOENT) return not_found(why + "; check its name");
    return errno == EACCES ? permission(why + "; ask its owner") : io(why);
  }
  struct stat what {};
  const bool known = fstat(descriptor, &what) == 0;
  if (!known || S_ISDIR(what.st_mode)) {
    close(descriptor);
    return invalid(path + ": a directory; give a file, FIFO or device");
  }
  return std::unique_ptr<Sampler>(
      new StreamSampler(path, descriptor, what.st_mode));
}

}  // namespace thermocline
