#include "daemon/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>
#include <zmq.hpp>

#include "daemon/socket_lock.h"

namespace thermocline {
namespace {

constexpr int kAnswersPerCall = 256;
constexpr std::size_t kMostFrames = 8;
// Larger requests than Api's limit are still answered, up to here; beyond,
// ZeroMQ drops the connection.
constexpr std::int64_t kLargestMessage = std::int64_t{1} << 20;

// All files made while it lives are for their owner only.
class OwnerOnly {
 public:
  OwnerOnly() : before_(::umask(0077)) {}
  OwnerOnly(const OwnerOnly&) = delete;
  OwnerOnly& operator=(const OwnerOnly&) = delete;
  ~OwnerOnly() { ::umask(before_); }

 private:
  mode_t before_;
};

}  // namespace

struct Server::Impl {
  Impl(std::string where, SocketLock lock)
      : path(std::move(where)), held(std::move(lock)) {}
  ~Impl() {
    requests.close();
    events.close();
    context.close();
    ::unlink(path.c_str());
    ::unlink((path + ".events").c_str());
  }

  std::string path;
  SocketLock held;
  zmq::context_t context{1};
  zmq::socket_t requests{context, zmq::socket_type::router};
  zmq::socket_t events{context, zmq::socket_type::pub};
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::open(const std::string& path) {
  auto lock = SocketLock::take(path);
  if (!lock) return lock.error();
  try {
    auto impl = std::make_unique<Impl>(path, *std::move(lock));
    for (auto* socket : {&impl->requests, &impl->events}) {
      // Replies on their way may leave; a client that is gone holds nothing.
      socket->set(zmq::sockopt::linger, 100);
      socket->set(zmq::sockopt::maxmsgsize, kLargestMessage);
    }
    const OwnerOnly guard;
    impl->requests.bind("ipc://" + path);
    impl->events.bind("ipc://" + path + ".events");
    return Server(std::move(impl));
  } catch (const zmq::error_t& error) {
    return io("cannot listen on " + path + ": " + error.what() +
              "; choose --socket");
  }
}

const std::string& Server::path() const { return impl_->path; }

int Server::descriptor() const {
  try {
    return static_cast<int>(impl_->requests.get(zmq::sockopt::fd));
  } catch (const zmq::error_t&) {
    return -1;
  }
}

bool Server::serve(const Answer& answer) {
  try {
    for (int i = 0; i < kAnswersPerCall; ++i) {
      // The sender, whatever envelope it used (REQ adds an empty frame), and
      // the request as the last frame.
      std::vector<zmq::message_t> frames;
      bool more = true;
      while (more) {
        zmq::message_t frame;
        if (!impl_->requests.recv(frame, zmq::recv_flags::dontwait)) {
          return false;
        }
        more = frame.more();
        if (frames.size() == kMostFrames) frames.pop_back();
        frames.push_back(std::move(frame));
      }
      if (frames.size() < 2) continue;
      const std::string reply = answer(frames.back().to_string_view());
      frames.back().rebuild(reply.data(), reply.size());
      for (std::size_t f = 0; f < frames.size(); ++f) {
        const auto flags = f + 1 < frames.size() ? zmq::send_flags::sndmore |
                                                       zmq::send_flags::dontwait
                                                 : zmq::send_flags::dontwait;
        if (!impl_->requests.send(frames[f], flags)) break;
      }
    }
    return true;
  } catch (const zmq::error_t&) {
    // One peer's trouble (gone, or a queue full) must not end the service.
    return false;
  }
}

void Server::publish(std::string_view topic, std::string_view text) {
  try {
    zmq::message_t first(topic.data(), topic.size());
    zmq::message_t second(text.data(), text.size());
    const auto flags = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
    if (impl_->events.send(first, flags)) {
      impl_->events.send(second, zmq::send_flags::dontwait);
    }
  } catch (const zmq::error_t&) {
  }
}

}  // namespace thermocline
