// Ports of loopback that are free now: for services that a test starts a moment
// later. Tests run side by side: each process looks from its own number on.
#pragma once

#include <unistd.h>

#include <string>
#include <zmq.hpp>

namespace thermocline {

/// The first of two adjacent free ports (thermoclined publishes events on
/// the second). Returns: 0 when there are none.
inline int two_free_ports() {
  zmq::context_t context(1);
  zmq::socket_t probe(context, zmq::socket_type::router);
  for (int port = 20'000 + ::getpid() * 4 % 20'000; port < 60'000; port += 2) {
    try {
      probe.bind("tcp://127.0.0.1:" + std::to_string(port + 1));
      probe.bind("tcp://127.0.0.1:" + std::to_string(port));
      return port;
    } catch (const zmq::error_t&) {
    }
  }
  return 0;
}

}  // namespace thermocline
