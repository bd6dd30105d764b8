// machine_clock: asks the emulated machine's clock one question, from inside.
//
//   machine_clock now | start [LOAD_PERIOD [STORE_PERIOD [RATE]]] | stop |
//                 dilation X | model on|off
//
// Prints the machine's answer, one line of JSON. Exits with 1 if the machine
// refuses, with 2 if there is no clock to ask.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

constexpr const char* kPort = "/dev/virtio-ports/thermocline.clock";
constexpr const char* kLock = "/tmp/.machine_clock";

int fail(const char* what) {
  std::perror(what);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  std::string request;
  for (int i = 1; i < count; ++i) {
    request += i > 1 ? " " : "";
    request += arguments[i];
  }
  if (request.empty()) request = "now";
  request += "\n";

  // The port serves one program at a time.
  const int lock = ::open(kLock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0) return fail(kLock);
  const int port = ::open(kPort, O_RDWR | O_CLOEXEC);
  if (port < 0) return fail(kPort);
  if (::write(port, request.data(), request.size()) !=
      static_cast<ssize_t>(request.size())) {
    return fail(kPort);
  }
  std::string answer;
  char buffer[4096];
  while (answer.empty() || answer.back() != '\n') {
    const ssize_t got = ::read(port, buffer, sizeof buffer);
    if (got <= 0) return fail(kPort);
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  std::fputs(answer.c_str(), stdout);
  return answer.find("\"ok\":true") != std::string::npos ? 0 : 1;
}
