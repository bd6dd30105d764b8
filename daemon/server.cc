#include "daemon/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <vector>
#include <zmq.hpp>

#include "daemon/metrics_server.h"
#include "daemon/remote_sockets.h"
#include "daemon/socket_lock.h"

namespace thermocline {
namespace {

constexpr int kAnswersPerCall = 256;
constexpr std::size_t kMostFrames = 8;
// Larger requests than Api's limit are still answered, up to here; beyond,
// ZeroMQ drops the connection.
constexpr std::int64_t kLargestMessage = std::int64_t{1} << 20;
constexpr const char* kTooMany =
    R"({"v":1,"ok":false,"error":{"code":"too_many",)"
    R"("message":"more requests a second than --rate allows; ask less often"}})";

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

// Replies that are alike, one after the other, share their memory: what another
// thread frees is dear to allocate.
class SameReply {
 public:
  void put(const std::string& reply, zmq::message_t& out) {
    if (reply != text_) {
      text_ = reply;
      message_.rebuild();
      out.rebuild(reply.data(), reply.size());
      return;
    }
    if (message_.empty()) message_.rebuild(reply.data(), reply.size());
    out.copy(message_);
  }

 private:
  std::string text_;        // of the last one
  zmq::message_t message_;  // the same, once it came twice
};

// Answers what has come, the last frame of each message; true when there may
// be more.
template <typename Answer>
bool answer_all(zmq::socket_t& socket, Answer answer) {
  // The sender, whatever envelope it used (REQ adds an empty frame), and the
  // request as the last frame.
  std::array<zmq::message_t, kMostFrames> frames;
  std::string reply;
  SameReply same;
  for (int i = 0; i < kAnswersPerCall; ++i) {
    std::size_t count = 0;
    bool more = true;
    while (more) {
      if (count < kMostFrames) ++count;
      auto& frame = frames[count - 1];
      if (!socket.recv(frame, zmq::recv_flags::dontwait)) return false;
      more = frame.more();
    }
    if (count < 2) continue;
    auto& last = frames[count - 1];
    answer(last, reply);
    same.put(reply, last);
    for (std::size_t f = 0; f < count; ++f) {
      const auto flags =
          f + 1 < count ? zmq::send_flags::sndmore | zmq::send_flags::dontwait
                        : zmq::send_flags::dontwait;
      if (!socket.send(frames[f], flags)) break;
    }
  }
  return true;
}

// The process at the other end of a Unix socket: SO_PEERCRED, which ZeroMQ
// gives as "NAME:UID:GID:PID". It is who connected, in our own namespace.
int peer_of(const zmq::message_t& message) {
  const char* told = ::zmq_msg_gets(message.handle(), "Peer-Address");
  const std::string_view text = told == nullptr ? "" : told;
  const auto digits = text.substr(text.rfind(':') + 1);
  int pid = 0;
  const auto end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, pid);
  return read.ec == std::errc() && read.ptr == end ? pid : 0;
}

void tell(zmq::socket_t& socket, std::string_view topic,
          std::string_view text) {
  try {
    zmq::message_t first(topic.data(), topic.size());
    zmq::message_t second(text.data(), text.size());
    const auto flags = zmq::send_flags::sndmore | zmq::send_flags::dontwait;
    if (socket.send(first, flags)) {
      socket.send(second, zmq::send_flags::dontwait);
    }
  } catch (const zmq::error_t&) {
  }
}

Status check_remote(const Server::Options& options) {
  if (options.listen.empty()) return {};
  if (!events_address(options.listen)) {
    return invalid("--listen " + options.listen +
                   " is not tcp://ADDRESS:PORT with a port from 1 to 65534");
  }
  if (options.keys.empty()) {
    return invalid(
        "--listen needs --keys: a directory that thermocline keygen made; "
        "nothing is served over TCP without keys");
  }
  if (options.clients.empty()) {
    return invalid(
        "--listen needs --clients: a file with a line ROLE KEY NAME for each "
        "who may ask");
  }
  return {};
}

std::string where(const Server::Options& options) {
  std::string out = options.path;
  if (!options.listen.empty()) out += ", " + options.listen;
  if (options.metrics_port != 0) {
    out += ", port " + std::to_string(options.metrics_port);
  }
  return out;
}

}  // namespace

struct Server::Impl {
  Impl(std::string where, SocketLock lock)
      : path(std::move(where)), held(std::move(lock)) {}
  ~Impl() {
    remote.reset();
    metrics.reset();
    requests.close();
    events.close();
    context.close();
    ::unlink(path.c_str());
    ::unlink((path + ".events").c_str());
  }

  void set_up(zmq::socket_t& socket) {
    // Replies on their way may leave; a client that is gone holds nothing.
    socket.set(zmq::sockopt::linger, 100);
    socket.set(zmq::sockopt::maxmsgsize, kLargestMessage);
  }
  void listen(const Options& options, const std::optional<KeyPair>& keys);

  std::string path;
  SocketLock held;
  std::vector<int> waiting;
  zmq::context_t context{1};
  zmq::socket_t requests{context, zmq::socket_type::router};
  zmq::socket_t events{context, zmq::socket_type::pub};
  std::unique_ptr<RemoteSockets> remote;
  std::unique_ptr<MetricsServer> metrics;
};

void Server::Impl::listen(const Options& options,
                          const std::optional<KeyPair>& keys) {
  set_up(requests);
  set_up(events);
  {
    const OwnerOnly guard;
    requests.bind("ipc://" + path);
    events.bind("ipc://" + path + ".events");
  }
  waiting.push_back(requests.get(zmq::sockopt::fd));
  if (keys) {
    set_up(remote->requests);
    set_up(remote->events);
    remote->listen(options.listen, *keys);
    waiting.push_back(remote->requests.get(zmq::sockopt::fd));
  }
  if (options.metrics_port != 0) {
    metrics = std::make_unique<MetricsServer>(context, options.metrics_port);
    waiting.push_back(metrics->descriptor());
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Status Server::check(const Options& options) {
  if (auto status = check_remote(options); !status) return status;
  if (auto status = SocketLock::check(options.path); !status) return status;
  if (!options.listen.empty()) {
    const auto keys = read_keys(options.keys);
    if (!keys) return keys.error();
  }
  // Also of one that serves no TCP yet: what is named is there.
  return options.clients.empty() ? Status() : Clients::check(options.clients);
}

Result<Server> Server::open(const Options& options) {
  if (auto status = check_remote(options); !status) return status.error();
  std::optional<KeyPair> keys;
  if (!options.listen.empty()) {
    auto read = read_keys(options.keys);
    if (!read) return read.error();
    keys = *std::move(read);
  }
  auto lock = SocketLock::take(options.path);
  if (!lock) return lock.error();
  try {
    auto impl = std::make_unique<Impl>(options.path, *std::move(lock));
    if (keys) {
      impl->remote = std::make_unique<RemoteSockets>(impl->context,
                                                     options.requests_per_s);
      auto loaded = impl->remote->clients.load(options.clients);
      if (!loaded) return loaded.error();
    }
    impl->listen(options, keys);
    return Server(std::move(impl));
  } catch (const zmq::error_t& error) {
    return io("cannot listen on " + where(options) + ": " + error.what() +
              "; choose another --socket, --listen or --metrics-port");
  }
}

const std::string& Server::path() const { return impl_->path; }

std::span<const int> Server::descriptors() const { return impl_->waiting; }

Status Server::load_clients(const std::string& path) {
  if (impl_->remote == nullptr) return {};
  return impl_->remote->clients.load(path);
}

bool Server::serve(const Answers& answers, Nanos now) {
  try {
    bool more = answer_all(impl_->requests, [&](const zmq::message_t& request,
                                                std::string& reply) {
      answers.request(request.to_string_view(),
                      owner([&] { return peer_of(request); }), reply);
    });
    if (auto* remote = impl_->remote.get(); remote != nullptr) {
      more |= answer_all(remote->requests, [&](const zmq::message_t& request,
                                               std::string& reply) {
        // ZeroMQ says whose key it was; without that, nobody's.
        const char* key = ::zmq_msg_gets(request.handle(), "User-Id");
        bool within_rate = false;
        const auto caller =
            remote->clients.caller(key == nullptr ? "" : key, now, within_rate);
        using Kind = RefusedRequests::Kind;
        const auto refused = [&](Kind kind) {
          const auto line = remote->refused.add(kind, caller.name, now);
          if (line && answers.refused) answers.refused(*line);
        };
        if (caller.role == Role::kNone) refused(Kind::kStranger);
        if (!within_rate) {
          refused(Kind::kTooMany);
          reply = kTooMany;
          return;
        }
        answers.request(request.to_string_view(), caller, reply);
      });
    }
    if (impl_->metrics) more |= impl_->metrics->serve(answers.metrics);
    return more;
  } catch (const zmq::error_t&) {
    // One peer's trouble (gone, or a queue full) must not end the service.
    return false;
  }
}

void Server::publish(std::string_view topic, std::string_view text) {
  tell(impl_->events, topic, text);
  if (impl_->remote != nullptr) tell(impl_->remote->events, topic, text);
}

}  // namespace thermocline
