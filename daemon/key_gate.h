// KeyGate: tells ZeroMQ which CURVE clients to let in (ZAP, ZeroMQ's rfc 27).
//
// Every key may connect to the socket for requests, since each request is
// answered, a stranger's with `permission`; only those on the list may
// subscribe to events. A message then carries its sender's public key as its
// User-Id, which nobody can forge.
//
// Thread safety: has one thread of its own. Requires: made before the sockets
// of the context listen, and destroyed after they are closed; the clients
// outlive it.
#pragma once

#include <thread>
#include <zmq.hpp>

#include "daemon/clients.h"

namespace thermocline {

// ZAP domains of the two sockets.
inline constexpr const char* kRequestsDomain = "requests";
inline constexpr const char* kEventsDomain = "events";

class KeyGate {
 public:
  /// Throws zmq::error_t when it cannot listen.
  KeyGate(zmq::context_t& context, const Clients& clients);
  KeyGate(const KeyGate&) = delete;
  KeyGate& operator=(const KeyGate&) = delete;
  ~KeyGate();  // shuts the context down

 private:
  void serve();

  zmq::context_t& context_;
  const Clients& clients_;
  zmq::socket_t socket_;
  std::thread thread_;
};

}  // namespace thermocline
