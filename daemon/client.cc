#include "daemon/client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <zmq.hpp>

#include "daemon/keys.h"
#include "daemon/remote_sockets.h"

namespace thermocline {
namespace {

Status check_local(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) {
    return not_found("no thermoclined serves on " + path +
                     "; start one (thermocline run, thermocline attach), or "
                     "name its socket with --socket");
  }
  if (::access(path.c_str(), W_OK) != 0) {
    return permission(path + " belongs to another user; ask as that user");
  }
  return {};
}

Status show_keys(zmq::socket_t& socket, const ServiceAddress& access) {
  const auto own = read_keys(access.keys);
  if (!own) return own.error();
  const auto server = access.server_key.empty()
                          ? read_key(access.keys + "/server.key")
                          : Result<std::string>(access.server_key);
  if (!server) {
    return server.error().within(
        "the service's public key, to be copied there");
  }
  socket.set(zmq::sockopt::curve_serverkey, *server);
  socket.set(zmq::sockopt::curve_publickey, own->public_key);
  socket.set(zmq::sockopt::curve_secretkey, own->secret_key);
  return {};
}

Status reach(zmq::socket_t& socket, const ServiceAddress& access, bool events) {
  socket.set(zmq::sockopt::linger, 0);
  if (!is_remote(access)) {
    if (auto status = check_local(access.socket); !status) return status;
    socket.connect("ipc://" + access.socket + (events ? ".events" : ""));
    return {};
  }
  if (auto status = show_keys(socket, access); !status) return status;
  const auto next = events_address(access.socket);
  if (!next) {
    return invalid(access.socket + " is not tcp://HOST:PORT");
  }
  socket.connect(events ? *next : access.socket);
  return {};
}

Error failed(const ServiceAddress& access, const zmq::error_t& error) {
  return io("asking on " + access.socket + ": " + error.what());
}

Error no_answer(const ServiceAddress& access, int timeout_ms) {
  return io("no answer on " + access.socket + " within " +
            std::to_string(timeout_ms) + " ms; the service has ended or " +
            (is_remote(access) ? "is elsewhere, or server.key is not its "
                                 "public key"
                               : "is stuck"));
}

constexpr std::size_t kAtOnce = 500;  // a context has 1,023 sockets

// One service that is asked, until it has answered or failed.
struct Question {
  zmq::socket_t socket;
  std::optional<Result<std::string>> answer;
};

Question question(zmq::context_t& context, const ServiceAddress& access,
                  const std::string& request) {
  Question out;
  try {
    out.socket = zmq::socket_t(context, zmq::socket_type::req);
    if (auto status = reach(out.socket, access, false); !status) {
      out.answer = status.error();
    } else {
      out.socket.send(zmq::buffer(request), zmq::send_flags::dontwait);
    }
  } catch (const zmq::error_t& error) {
    out.answer = failed(access, error);
  }
  return out;
}

// Takes what has come.
void hear(Question& from, const ServiceAddress& access) {
  try {
    zmq::message_t reply;
    if (from.socket.recv(reply, zmq::recv_flags::dontwait)) {
      from.answer = reply.to_string();
    }
  } catch (const zmq::error_t& error) {
    from.answer = failed(access, error);
  }
}

void ask_some(zmq::context_t& context, std::span<const ServiceAddress> services,
              const std::string& request, int timeout_ms,
              std::vector<Result<std::string>>& out) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<Question> questions;
  for (const auto& one : services) {
    questions.push_back(question(context, one, request));
  }
  for (;;) {
    std::vector<zmq::pollitem_t> items;
    std::vector<std::size_t> who;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      if (questions[i].answer) continue;
      items.push_back({questions[i].socket.handle(), 0, ZMQ_POLLIN, 0});
      who.push_back(i);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - Clock::now());
    if (items.empty() || left.count() <= 0) break;
    try {
      zmq::poll(items, left);
    } catch (const zmq::error_t&) {
      break;  // a signal: who has not answered has not
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].revents != 0) hear(questions[who[i]], services[who[i]]);
    }
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    out.push_back(questions[i].answer ? *std::move(questions[i].answer)
                                      : Result<std::string>(no_answer(
                                            services[i], timeout_ms)));
  }
}

}  // namespace

bool is_remote(const ServiceAddress& access) {
  return access.socket.rfind("tcp://", 0) == 0;
}

Result<std::string> ask(const ServiceAddress& access,
                        const std::string& request, int timeout_ms) {
  return ask_all({access}, request, timeout_ms).front();
}

std::vector<Result<std::string>> ask_all(
    const std::vector<ServiceAddress>& services, const std::string& request,
    int timeout_ms) {
  std::vector<Result<std::string>> out;
  zmq::context_t context(1);
  for (std::size_t at = 0; at < services.size(); at += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, services.size() - at);
    ask_some(context, std::span(services).subspan(at, count), request,
             timeout_ms, out);
  }
  return out;
}

struct Events::Impl {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::sub};
};

Events::Events(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Events::Events(Events&&) noexcept = default;
Events& Events::operator=(Events&&) noexcept = default;
Events::~Events() = default;

Result<Events> Events::open(const ServiceAddress& access,
                            const std::string& topic) {
  try {
    auto impl = std::make_unique<Impl>();
    impl->socket.set(zmq::sockopt::subscribe, topic);
    if (auto status = reach(impl->socket, access, true); !status) {
      return status.error();
    }
    return Events(std::move(impl));
  } catch (const zmq::error_t& error) {
    return failed(access, error);
  }
}

std::optional<std::string> Events::next(int timeout_ms) {
  try {
    impl_->socket.set(zmq::sockopt::rcvtimeo, timeout_ms);
    zmq::message_t frame;
    if (!impl_->socket.recv(frame)) return std::nullopt;
    while (frame.more()) {
      if (!impl_->socket.recv(frame)) return std::nullopt;
    }
    return frame.to_string();
  } catch (const zmq::error_t&) {
    return std::nullopt;
  }
}

}  // namespace thermocline
