#include "daemon/client.h"

#include <unistd.h>

#include <zmq.hpp>

namespace thermocline {

Result<std::string> ask(const std::string& path, const std::string& request,
                        int timeout_ms) {
  if (access(path.c_str(), F_OK) != 0) {
    return not_found("no thermoclined serves on " + path +
                     "; start one (thermocline run, thermocline attach), or "
                     "name its socket with --socket");
  }
  if (access(path.c_str(), W_OK) != 0) {
    return permission(path + " belongs to another user; ask as that user");
  }
  try {
    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::req);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, timeout_ms);
    socket.set(zmq::sockopt::sndtimeo, timeout_ms);
    socket.connect("ipc://" + path);
    zmq::message_t reply;
    if (!socket.send(zmq::buffer(request)) || !socket.recv(reply)) {
      return io("no answer on " + path + " within " +
                std::to_string(timeout_ms) +
                " ms; the service has ended or is stuck");
    }
    return reply.to_string();
  } catch (const zmq::error_t& error) {
    return io("asking on " + path + ": " + error.what());
  }
}

}  // namespace thermocline
