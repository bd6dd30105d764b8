#include "traces/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "traces/replace_file.h"

namespace thermocline {
namespace {

Error open_error(const std::string& path, int number) {
  switch (number) {
    case EEXIST: return exists_already(path);
    case EISDIR: return invalid(path + ": is a directory; name a file");
    case ENOENT:
    case ENOTDIR: return not_found(path + ": no such directory; make it first");
    case EACCES:
    case EPERM:
    case EROFS:
      return permission(path +
                        ": may not be written: " + std::strerror(number));
    default: return io(path + ": cannot create: " + std::strerror(number));
  }
}

}  // namespace

Result<AppendFile> AppendFile::create(const std::string& path, bool replace) {
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | (replace ? O_TRUNC : O_EXCL);
  const int descriptor = open(path.c_str(), how, 0644);
  if (descriptor < 0) return open_error(path, errno);
  return AppendFile(descriptor, path);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      bytes_(other.bytes_),
      failure_(std::move(other.failure_)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(failure_, other.failure_);
  return *this;
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status AppendFile::fail(const char* doing, int number) {
  failure_ = path_ + ": cannot " + doing + ": " + std::strerror(number);
  if (descriptor_ >= 0) {
    // What was written of it is of no use; if this fails too, a reader still
    // stops at the last whole block.
    (void)!ftruncate(descriptor_, static_cast<off_t>(bytes_));
  }
  return io(failure_);
}

Status AppendFile::append(ByteSpan bytes) {
  if (!failure_.empty()) return io(failure_);
  CHECK(descriptor_ >= 0);
  for (ByteSpan rest = bytes; !rest.empty();) {
    const ssize_t wrote = write(descriptor_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail("write", errno);
    rest = rest.subspan(static_cast<std::size_t>(wrote));
  }
  bytes_ += bytes.size();
  return {};
}

Status AppendFile::close() {
  if (!failure_.empty()) return io(failure_);
  CHECK(descriptor_ >= 0);
  // A pipe or /dev/null has no stable storage to wait for.
  if (fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) {
    return fail("sync", errno);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return fail("close", errno);
  }
  return {};
}

}  // namespace thermocline
