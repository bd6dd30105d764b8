// Server: requests and events over ZeroMQ.
//
// Two sockets, PATH (ROUTER: requests, any number in flight) and PATH.events
// (PUB: a topic frame and a JSON frame), both Unix sockets that only their
// owner can open. PATH.lock, locked while the server lives, tells a live
// server from what a killed one left behind. If asked to, the same two over
// TCP, at a port and the one after it, with CURVE keys and nothing else:
// requests from there have the caller whose key it is. And Prometheus' port.
//
// Thread safety: none; one thread (ZeroMQ's own and the key gate's apart).
// Ownership: removes its sockets and its lock when destroyed. Foreign
// exceptions (zmq::error_t) end here.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/caller.h"
#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Server {
 public:
  struct Options {
    std::string path;     // of the Unix socket
    std::string listen;   // tcp://ADDRESS:PORT as well; empty: no TCP
    std::string keys;     // directory of the server's own keys
    std::string clients;  // file of those who may ask over TCP
    std::uint64_t requests_per_s = 100;  // of each of them; 0: no limit
    int metrics_port = 0;                // Prometheus', on loopback; 0: none
  };

  /// Touches nothing. Errors: as open(), but for what is in use.
  static Status check(const Options& options);
  /// Makes the socket's directory (0700) if it is not there. Errors: kInvalid
  /// (path too long, or not a socket; TCP without keys or clients), kIo (in
  /// use by another server, or the directory cannot be written), kPermission
  /// (a directory of others), and those of read_keys() and Clients::load().
  static Result<Server> open(const Options& options);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  const std::string& path() const;
  /// For poll. They are edge triggered: call serve() after every wake-up,
  /// whatever woke the caller.
  std::span<const int> descriptors() const;

  /// Reads the list of clients anew; a bad one is refused and the old one
  /// stays. Subscribers that were let in stay until they reconnect.
  Status load_clients(const std::string& path);

  // Who answers, into a text whose memory is used again, what is told to
  // scrapers, and who hears whose requests over TCP were refused.
  struct Answers {
    std::function<void(std::string_view, const Caller&, std::string&)> request;
    std::function<std::string()> metrics;
    std::function<void(const std::string&)> refused;
  };
  /// Answers the requests that are there, at most a few hundred a call.
  /// Returns true when there may be more.
  bool serve(const Answers& answers, Nanos now);

  /// Tells all subscribers; drops the event for those that are too slow.
  void publish(std::string_view topic, std::string_view text);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
