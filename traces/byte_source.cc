#include "traces/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thermocline {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(int descriptor) : descriptor_(descriptor) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { close(descriptor_); }

  Result<std::size_t> read(Bytes offset,
                           std::span<std::uint8_t> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          pread(descriptor_, into.data() + done, into.size() - done,
                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io(std::strerror(errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Bytes size() const override {
    struct stat what {};
    if (fstat(descriptor_, &what) != 0) return 0;
    return static_cast<Bytes>(what.st_size);
  }

 private:
  int descriptor_;
};

}  // namespace

Result<std::size_t> MemorySource::read(Bytes offset,
                                       std::span<std::uint8_t> into) const {
  if (offset >= bytes_.size()) return std::size_t{0};
  const auto from = bytes_.subspan(static_cast<std::size_t>(offset));
  const std::size_t count = std::min(from.size(), into.size());
  std::copy_n(from.begin(), count, into.begin());
  return count;
}

Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path) {
  // Without O_NONBLOCK, opening a FIFO waits for somebody to write to it.
  const int descriptor =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    const int number = errno;
    const std::string why = path + ": " + std::strerror(number);
    if (number == ENOENT || number == ENOTDIR) {
      return not_found(path + ": no such file; check its name");
    }
    if (number == EACCES || number == EPERM) {
      return permission(path + ": may not be read; ask its owner");
    }
    return io(why);
  }
  auto file = std::make_unique<FileSource>(descriptor);
  struct stat what {};
  if (fstat(descriptor, &what) != 0) {
    return io(path + ": " + std::strerror(errno));
  }
  if (S_ISDIR(what.st_mode)) {
    return invalid(path + ": is a directory; name a trace file in it");
  }
  if (!S_ISREG(what.st_mode)) {
    return invalid(path + ": is not a regular file; copy the trace to one");
  }
  return std::unique_ptr<ByteSource>(std::move(file));
}

}  // namespace thermocline
