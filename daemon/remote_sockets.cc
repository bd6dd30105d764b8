#include "daemon/remote_sockets.h"

#include "tracer/words.h"

namespace thermocline {
namespace {

// Those who connect and then say nothing are let go.
constexpr int kHandshakeMs = 5'000;
// A peer whose host went away is noticed.
constexpr int kHeartbeatMs = 15'000;

}  // namespace

void RemoteSockets::listen(const std::string& address, const KeyPair& keys) {
  const auto set_up = [&](zmq::socket_t& socket, const char* domain,
                          const std::string& where) {
    socket.set(zmq::sockopt::curve_server, true);
    socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
    socket.set(zmq::sockopt::zap_domain, domain);
    socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
    socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
    socket.bind(where);
  };
  set_up(requests, kRequestsDomain, address);
  set_up(events, kEventsDomain, *events_address(address));
}

std::optional<std::string> events_address(const std::string& address) {
  const auto colon = address.rfind(':');
  if (address.rfind("tcp://", 0) != 0 || colon <= 6) return std::nullopt;
  std::uint64_t port = 0;
  if (!read_number(address.substr(colon + 1), port)) return std::nullopt;
  if (port < 1 || port > 65'534) return std::nullopt;
  return address.substr(0, colon + 1) + std::to_string(port + 1);
}

}  // namespace thermocline
