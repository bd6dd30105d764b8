#include "daemon/client.h"

#include <unistd.h>

#include <zmq.hpp>

#include "daemon/keys.h"
#include "daemon/remote_sockets.h"

namespace thermocline {
namespace {

bool is_remote(const ServiceAddress& access) {
  return access.socket.rfind("tcp://", 0) == 0;
}

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

Status show_keys(zmq::socket_t& socket, const std::string& directory) {
  const auto own = read_keys(directory);
  if (!own) return own.error();
  const auto server = read_key(directory + "/server.key");
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
  if (auto status = show_keys(socket, access.keys); !status) return status;
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

}  // namespace

Result<std::string> ask(const ServiceAddress& access,
                        const std::string& request, int timeout_ms) {
  try {
    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::req);
    socket.set(zmq::sockopt::rcvtimeo, timeout_ms);
    socket.set(zmq::sockopt::sndtimeo, timeout_ms);
    if (auto status = reach(socket, access, false); !status) {
      return status.error();
    }
    zmq::message_t reply;
    if (!socket.send(zmq::buffer(request)) || !socket.recv(reply)) {
      return io("no answer on " + access.socket + " within " +
                std::to_string(timeout_ms) + " ms; the service has ended or " +
                (is_remote(access) ? "is elsewhere, or server.key is not its "
                                     "public key"
                                   : "is stuck"));
    }
    return reply.to_string();
  } catch (const zmq::error_t& error) {
    return failed(access, error);
  }
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
