// MetricsServer: Prometheus' scrapes, over HTTP on this host's loopback.
//
// Answers GET /metrics and nothing else, one request a connection; that is all
// that a scraper asks for. Over a ZMQ_STREAM socket, so that it shares the
// loop's way of waiting.
//
// Thread safety: none; one thread. Errors of one connection end it alone.
#pragma once

#include <functional>
#include <string>
#include <zmq.hpp>

namespace thermocline {

class MetricsServer {
 public:
  /// Throws zmq::error_t when the port is taken.
  MetricsServer(zmq::context_t& context, int port);
  int descriptor() const { return socket_.get(zmq::sockopt::fd); }

  /// Answers what is there; true when there may be more. `text` makes the
  /// metrics, when they are asked for.
  bool serve(const std::function<std::string()>& text);

 private:
  zmq::socket_t socket_;
};

/// What is sent back for what came in first on a connection.
std::string answer_http(std::string_view request,
                        const std::function<std::string()>& text);

}  // namespace thermocline
