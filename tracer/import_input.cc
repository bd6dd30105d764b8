#include "tracer/import_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tracer/unpack.h"

namespace thermocline {
namespace {

// What next() and head() show at most.
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr int kLookUpMs = 100;

}  // namespace

struct ImportInput::Impl {
  using Span = std::span<const std::uint8_t>;

  explicit Impl(std::string path) : name(std::move(path)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (descriptor > STDERR_FILENO) close(descriptor);
  }

  // More packed bytes after those in `packed`, until there are `least`.
  Status fill(std::size_t least) {
    if (descriptor < 0 || packed.size() >= least) return {};
    std::copy(packed.begin(), packed.end(), buffer.begin());
    std::size_t held = packed.size();
    while (!at_end && held < least) {
      // A reader that waits for a pipe looks up: whoever asks it to stop just
      // before it began to wait is heard, too.
      pollfd ready = {descriptor, POLLIN, 0};
      if (watch && poll(&ready, 1, kLookUpMs) <= 0) {
        if (watch(taken, size)) continue;
        return interrupted("stopped while reading " + name);
      }
      const auto got =
          read(descriptor, buffer.data() + held, buffer.size() - held);
      const int code = errno;
      if (got > 0) taken += static_cast<Bytes>(got);
      if (watch && !watch(taken, size)) {
        return interrupted("stopped while reading " + name);
      }
      if (got < 0 && code == EINTR) continue;
      if (got < 0) return io(name + ": " + std::strerror(code));
      at_end = got == 0;
      held += static_cast<std::size_t>(got);
    }
    packed = Span(buffer).first(held);
    return {};
  }

  // The next unpacked bytes into `chunk`, from `have` on.
  Result<std::size_t> unpacked(std::size_t have) {
    if (!unpack) {
      if (auto status = fill(4); !status) return status.error();
      unpack = make_unpack(packed);
    }
    const auto room = std::span(chunk).subspan(have);
    for (;;) {
      if (auto status = fill(1); !status) return status.error();
      const bool dry = packed.empty();
      auto got = unpack->step(packed, room);
      if (!got) return got.error().within(here(have));
      if (*got > 0) return got;
      if (!dry) continue;
      if (unpack->may_end()) return std::size_t{0};
      return corrupt(here(have) +
                     ": the packed file is cut; copy or pack it again");
    }
  }
  std::string here(std::size_t have) const {
    return "offset " + std::to_string(offset + have);
  }

  std::string name;
  int descriptor = -1;
  bool at_end = false;
  Bytes taken = 0;
  Bytes size = 0;  // 0: not known
  Watch watch;
  std::vector<std::uint8_t> buffer;
  Span packed;  // what of `buffer`, or of memory, is left
  std::unique_ptr<Unpack> unpack;
  std::vector<std::uint8_t> chunk = std::vector<std::uint8_t>(kChunkBytes);
  std::size_t ahead = 0;  // bytes in `chunk` that head() has shown
  Bytes offset = 0;
};

ImportInput::ImportInput(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ImportInput::ImportInput(ImportInput&&) noexcept = default;
ImportInput& ImportInput::operator=(ImportInput&&) noexcept = default;
ImportInput::~ImportInput() = default;

Result<ImportInput> ImportInput::open(const std::string& path) {
  auto impl = std::make_unique<Impl>(path == "-" ? "standard input" : path);
  impl->descriptor =
      path == "-" ? STDIN_FILENO
                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (impl->descriptor < 0) {
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR) {
      return not_found(path + ": no such file; check its name");
    }
    if (number == EACCES || number == EPERM) {
      return permission(path + ": may not be read; ask its owner");
    }
    return io(path + ": " + std::strerror(number));
  }
  struct stat what {};
  if (fstat(impl->descriptor, &what) == 0 && S_ISDIR(what.st_mode)) {
    return invalid(path + ": a directory; name a file in it (perf record " +
                   "--threads writes such, which cannot be imported)");
  }
  if (S_ISREG(what.st_mode)) impl->size = static_cast<Bytes>(what.st_size);
  impl->buffer.resize(kChunkBytes);
  return ImportInput(std::move(impl));
}

ImportInput ImportInput::memory(std::span<const std::uint8_t> bytes,
                                std::string name) {
  auto impl = std::make_unique<Impl>(std::move(name));
  impl->packed = bytes;
  impl->taken = bytes.size();
  return ImportInput(std::move(impl));
}

void ImportInput::watch(Watch watch) { impl_->watch = std::move(watch); }

std::string_view ImportInput::head() {
  CHECK(impl_->offset == 0);
  while (impl_->ahead < kChunkBytes) {
    const auto got = impl_->unpacked(impl_->ahead);
    if (!got || *got == 0) break;
    impl_->ahead += *got;
  }
  return {reinterpret_cast<const char*>(impl_->chunk.data()), impl_->ahead};
}

Result<std::span<const std::uint8_t>> ImportInput::next() {
  std::size_t count = std::exchange(impl_->ahead, 0);
  if (count == 0) {
    auto got = impl_->unpacked(0);
    if (!got) return got.error();
    count = *got;
  }
  impl_->offset += count;
  return std::span<const std::uint8_t>(impl_->chunk).first(count);
}

Bytes ImportInput::offset() const { return impl_->offset; }
Bytes ImportInput::taken() const { return impl_->taken; }
const std::string& ImportInput::name() const { return impl_->name; }

}  // namespace thermocline
