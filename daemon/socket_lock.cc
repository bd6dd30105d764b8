#include "daemon/socket_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/paths.h"

namespace thermocline {
namespace {

// "PATH.events" must fit into sun_path with its zero byte.
constexpr std::size_t kLongestPath = 107 - 7;

Error in_use(const std::string& path) {
  return io("socket " + path +
            " is in use by another thermoclined; stop it or choose --socket");
}

// Somebody accepts connections there.
bool answers(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) == 0;
  ::close(fd);
  return connected;
}

Status check_socket(const std::string& path, const struct stat& found) {
  if (S_ISSOCK(found.st_mode)) return {};
  return invalid(path + " exists and is not a socket; choose another --socket");
}

Status clear_path(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (auto status = check_socket(path, found); !status) return status;
  if (answers(path)) return in_use(path);
  if (::unlink(path.c_str()) == 0) return {};
  return io("cannot remove the stale socket " + path + ": " +
            std::strerror(errno));
}

Error cannot_make(const std::string& directory) {
  return io("cannot make the socket's directory " + directory + ": " +
            std::strerror(errno) + "; choose --socket");
}

// Of another user, or open to all without the sticky bit of /tmp: they could
// take our socket away, and put theirs in its place.
bool of_others(const struct stat& found) {
  const bool theirs = found.st_uid != ::geteuid() && found.st_uid != 0;
  const bool open = (found.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH;
  return theirs || open;
}

Status check_directory(const std::string& directory) {
  struct stat found {};
  if (::stat(directory.c_str(), &found) != 0) {
    const auto parent = directory_of(directory);
    if (errno == ENOENT && ::access(parent.c_str(), W_OK | X_OK) == 0) {
      return {};
    }
    return cannot_make(directory);
  }
  if (!S_ISDIR(found.st_mode)) {
    return io(directory + " is not a directory; choose --socket");
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return io("the socket's directory " + directory + " cannot be written: " +
              std::strerror(errno) + "; choose --socket");
  }
  if (!of_others(found)) return {};
  return permission("the socket's directory " + directory +
                    " can be written by others, who could put a socket of "
                    "theirs there; choose --socket");
}

}  // namespace

SocketLock::SocketLock(SocketLock&& other) noexcept
    : lock_path_(std::move(other.lock_path_)),
      fd_(std::exchange(other.fd_, -1)) {}

SocketLock& SocketLock::operator=(SocketLock&& other) noexcept {
  std::swap(lock_path_, other.lock_path_);
  std::swap(fd_, other.fd_);
  return *this;
}

SocketLock::~SocketLock() {
  if (fd_ < 0) return;
  ::unlink(lock_path_.c_str());
  ::close(fd_);
}

Status SocketLock::check(const std::string& path) {
  if (path.empty() || path.size() > kLongestPath) {
    return invalid("socket path " + path + " must have 1 to " +
                   std::to_string(kLongestPath) + " bytes");
  }
  if (auto good = check_directory(directory_of(path)); !good) return good;
  for (const auto& name : {path, path + ".events"}) {
    struct stat found {};
    if (::lstat(name.c_str(), &found) != 0) continue;
    if (auto good = check_socket(name, found); !good) return good;
  }
  return {};
}

Result<SocketLock> SocketLock::take(const std::string& path) {
  if (auto good = check(path); !good) return good.error();
  const auto directory = directory_of(path);
  if (::access(directory.c_str(), F_OK) != 0 &&
      ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot_make(directory);
  }
  const std::string lock_path = path + ".lock";
  for (;;) {
    const int fd = ::open(lock_path.c_str(),
                          O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
      return io("cannot make " + lock_path + ": " + std::strerror(errno) +
                "; choose --socket");
    }
    SocketLock lock(lock_path, fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      ::close(std::exchange(lock.fd_, -1));  // not ours to remove
      return in_use(path);
    }
    struct stat held {};
    // Its last holder may have removed the file between our two calls.
    if (::fstat(fd, &held) == 0 && held.st_nlink == 0) {
      ::close(std::exchange(lock.fd_, -1));
      continue;
    }
    if (auto clear = clear_path(path); !clear) return clear.error();
    if (auto clear = clear_path(path + ".events"); !clear) {
      return clear.error();
    }
    return lock;
  }
}

}  // namespace thermocline
