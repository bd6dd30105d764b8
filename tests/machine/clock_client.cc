#include "tests/machine/clock_client.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace thermocline {
namespace {

constexpr const char* kPort = "/dev/virtio-ports/thermocline.clock";
constexpr const char* kLock = "/tmp/.machine_clock";

class Descriptor {
 public:
  explicit Descriptor(const char* path, int flags)
      : number_(::open(path, flags | O_RDWR | O_CLOEXEC, 0666)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Error failed(const char* path) {
  const auto code = errno == ENOENT ? Error::Code::kNotFound : Error::Code::kIo;
  return {code, std::string(path) + ": " + std::strerror(errno)};
}

}  // namespace

Result<std::string> ask_clock(const std::string& request) {
  const Descriptor lock(kLock, O_CREAT);
  if (lock.number() < 0 || ::flock(lock.number(), LOCK_EX) != 0) {
    return failed(kLock);
  }
  const Descriptor port(kPort, 0);
  if (port.number() < 0) return failed(kPort);
  const std::string line = request + "\n";
  if (::write(port.number(), line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    return failed(kPort);
  }
  std::string answer;
  char buffer[4096];
  while (answer.empty() || answer.back() != '\n') {
    const ssize_t got = ::read(port.number(), buffer, sizeof buffer);
    if (got <= 0) return failed(kPort);
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  answer.pop_back();
  if (answer.find("\"ok\":true") == std::string::npos) return invalid(answer);
  return answer;
}

}  // namespace thermocline
