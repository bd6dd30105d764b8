// RemoteSockets: the service's two sockets over TCP, behind CURVE keys.
//
// Thread safety: none, but for the clients' list. Requires: the context
// outlives it, and no other key gate is in the context.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "daemon/clients.h"
#include "daemon/key_gate.h"
#include "daemon/keys.h"
#include "daemon/refused_requests.h"

namespace thermocline {

struct RemoteSockets {
  RemoteSockets(zmq::context_t& context, std::uint64_t requests_per_s)
      : clients(requests_per_s),
        gate(context, clients),
        requests(context, zmq::socket_type::router),
        events(context, zmq::socket_type::pub) {}

  /// Throws zmq::error_t when an address cannot be bound.
  void listen(const std::string& address, const KeyPair& keys);

  Clients clients;
  KeyGate gate;
  zmq::socket_t requests;
  zmq::socket_t events;
  RefusedRequests refused;
};

/// Where events are, given where requests are: at the next port. None for what
/// is not tcp://ADDRESS:PORT with a port from 1 to 65,534.
std::optional<std::string> events_address(const std::string& address);

}  // namespace thermocline
