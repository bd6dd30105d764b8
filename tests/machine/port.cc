#include "tests/machine/port.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace thermocline {

bool Port::open() {
  if (descriptor_ >= 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  const int made =
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return false;
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
    ::close(made);
    return false;
  }
  descriptor_ = made;
  return true;
}

void Port::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::size_t Port::write(const char* data, std::size_t size) {
  if (descriptor_ < 0) return 0;
  const ssize_t taken = ::send(descriptor_, data, size, MSG_NOSIGNAL);
  if (taken >= 0) return static_cast<std::size_t>(taken);
  if (errno != EAGAIN && errno != EINTR) close();
  return 0;
}

void Port::read(std::string& text) {
  char buffer[4096];
  while (descriptor_ >= 0) {
    const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, 0);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) close();
      return;
    }
  }
}

std::size_t Port::unread() const {
  int bytes = 0;
  if (descriptor_ < 0 || ::ioctl(descriptor_, SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<std::size_t>(bytes);
}

}  // namespace thermocline
