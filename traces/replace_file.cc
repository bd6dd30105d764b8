#include "traces/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace thermocline {
namespace {

// Returns: 0, or errno.
int write_whole(int file, const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto n = ::write(file, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    at += static_cast<std::size_t>(n);
  }
  return ::fsync(file) == 0 ? 0 : errno;
}

}  // namespace

int put_in_place(const std::string& temporary, const std::string& path,
                 Existing existing) {
  if (existing == Existing::kKeep) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                    RENAME_NOREPLACE) == 0) {
      return 0;
    }
    // Not every file system knows this flag (9p does not).
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::access(path.c_str(), F_OK) == 0) return EEXIST;
  }
  return ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

int sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno;
  const int code = ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
  ::close(file);
  return code;
}

Error file_failure(const std::string& verb, const std::string& path, int code) {
  const std::string message =
      "cannot " + verb + " " + path + ": " + std::strerror(code);
  if (code == ENOENT) return not_found(message);
  if (code == EACCES || code == EPERM || code == EROFS) {
    return permission(message);
  }
  return code == EEXIST ? invalid(message) : io(message);
}

Status replace_file(const std::string& path, const std::string& bytes,
                    Existing existing) {
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return file_failure("write", path, errno);
  ::fchmod(file, 0644);
  int code = write_whole(file, bytes);
  ::close(file);
  if (code == 0) code = put_in_place(temporary, path, existing);
  if (code != 0) {
    ::unlink(temporary.c_str());
    return file_failure("write", path, code);
  }
  // What cannot be waited for is there all the same.
  static_cast<void>(sync_folder_of(path));
  return {};
}

}  // namespace thermocline
