#include "tracer/observer_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "tracer/observer_session.h"

namespace thermocline {
namespace {

constexpr std::size_t kMaxJobs = 64;  // at once; more are turned away
constexpr std::size_t kBytesPerPoll = 1 << 20;
constexpr std::size_t kBytesPerRead = 16 * 1024;

Nanos monotonic_now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * Nanos{1'000'000'000} + at.tv_nsec;
}

Error failed(const std::string& path) {
  auto why = path + ": " + std::strerror(errno);
  return errno == EACCES ? permission(std::move(why)) : io(std::move(why));
}

int unix_socket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// True when somebody answers there; a socket that nobody holds is removed.
bool in_use(const sockaddr_un& address) {
  struct stat what {};
  if (lstat(address.sun_path, &what) != 0) return false;
  if (!S_ISSOCK(what.st_mode)) return true;
  const int probe = unix_socket();
  const bool refused =
      connect(probe, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) != 0 &&
      errno == ECONNREFUSED;
  close(probe);
  if (refused) unlink(address.sun_path);
  return !refused;
}

int peer_of(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const int got = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return got == 0 ? peer.pid : 0;
}

}  // namespace

struct ObserverServer::Impl {
  using Hear = std::function<void(const ObserverEvent&)>;
  std::string path;
  int listener = -1;
  int waiter = -1;  // epoll
  bool bound = false;
  std::map<int, ObserverSession> sessions;  // by descriptor
  std::array<std::uint8_t, kBytesPerRead> chunk;
  std::vector<ObserverEvent> events;  // not told yet

  ~Impl() {
    for (const auto& [descriptor, unused] : sessions) close(descriptor);
    if (bound) unlink(path.c_str());
    if (waiter >= 0) close(waiter);
    if (listener >= 0) close(listener);
  }

  bool watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    return epoll_ctl(waiter, EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  void accept_jobs() {
    for (;;) {
      const int job =
          accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (job < 0) return;
      if (sessions.size() >= kMaxJobs || !watch(job)) {
        events.push_back(
            {peer_of(job), Loss{monotonic_now(), "observer.turned_away", 1}});
        close(job);
        continue;
      }
      sessions.try_emplace(job, peer_of(job));
    }
  }

  void end(int descriptor) {
    const auto at = sessions.find(descriptor);
    at->second.finish(monotonic_now(), events);
    sessions.erase(at);
    close(descriptor);  // leaves the epoll set by itself
  }

  // Takes the next bytes of one job. Returns: how many; 0: there are none now.
  std::size_t read(int descriptor) {
    for (;;) {
      const auto some = recv(descriptor, chunk.data(), chunk.size(), 0);
      if (some < 0 && errno == EINTR) continue;
      if (some < 0 && errno == EAGAIN) return 0;
      const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(some, 0));
      if (bytes == 0 ||
          !sessions.at(descriptor).feed({chunk.data(), bytes}, events)) {
        end(descriptor);
        return 0;
      }
      return bytes;
    }
  }

  bool tell(const Hear& hear) {
    const bool any = !events.empty();
    for (const auto& event : events) hear(event);
    events.clear();
    return any;
  }
};

Result<ObserverServer> ObserverServer::listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return io(path + ": too long for a socket; a Unix socket's path has 1 to " +
              "107 bytes");
  }
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (in_use(address))
    return io(path + ": in use by another; choose another path");
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->listener = unix_socket();
  impl->waiter = epoll_create1(EPOLL_CLOEXEC);
  // bind() takes the mode of an unbound socket's inode, so that there is no
  // instant at which others may connect (Linux, net/unix/af_unix.c).
  if (impl->listener < 0 || impl->waiter < 0 ||
      fchmod(impl->listener, 0600) != 0 ||
      bind(impl->listener, reinterpret_cast<sockaddr*>(&address),
           sizeof address) != 0) {
    return failed(path);
  }
  impl->bound = true;
  if (::listen(impl->listener, kMaxJobs) != 0 || !impl->watch(impl->listener)) {
    return failed(path);
  }
  return ObserverServer(std::move(impl));
}

ObserverServer::ObserverServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
ObserverServer::ObserverServer(ObserverServer&&) noexcept = default;
ObserverServer& ObserverServer::operator=(ObserverServer&&) noexcept = default;
ObserverServer::~ObserverServer() = default;

int ObserverServer::descriptor() const { return impl_->waiter; }

bool ObserverServer::poll(const Impl::Hear& hear) {
  std::array<epoll_event, kMaxJobs + 1> ready;
  const int count = epoll_wait(impl_->waiter, ready.data(),
                               static_cast<int>(ready.size()), 0);
  if (count <= 0) return false;
  // Every job that has something to say gets the same share.
  const auto share = kBytesPerPoll / static_cast<std::size_t>(count);
  bool arrived = false, any = false;
  for (int i = 0; i < count; ++i) {
    const int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == impl_->listener) {
      arrived = true;
      continue;
    }
    std::size_t heard = 0, bytes = 0;
    do {
      bytes = impl_->read(descriptor);
      heard += bytes;
      any |= impl_->tell(hear);
    } while (bytes > 0 && heard < share);
  }
  // Last: a descriptor that was closed above may be given out again.
  if (arrived) impl_->accept_jobs();
  return impl_->tell(hear) || any;
}

}  // namespace thermocline
