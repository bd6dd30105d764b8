// Server: requests and events over ZeroMQ; the only file that speaks it.
//
// Two sockets, PATH (ROUTER: requests, any number in flight) and PATH.events
// (PUB: a topic frame and a JSON frame), both Unix sockets that only their
// owner can open. PATH.lock, locked while the server lives, tells a live
// server from what a killed one left behind.
//
// Thread safety: none; one thread. Ownership: removes its sockets and its lock
// when destroyed. Foreign exceptions (zmq::error_t) end here.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "traces/result.h"

namespace thermocline {

class Server {
 public:
  /// Makes the socket's directory (0700) if it is not there. Errors: kInvalid
  /// (path too long, or not a socket), kIo (in use by another server, or the
  /// directory cannot be written).
  static Result<Server> open(const std::string& path);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  const std::string& path() const;
  /// For poll. It is edge triggered: call serve() after every wake-up,
  /// whatever woke the caller.
  int descriptor() const;

  /// Answers the requests that are there, at most a few hundred a call.
  /// Returns true when there may be more.
  using Answer = std::function<std::string(std::string_view)>;
  bool serve(const Answer& answer);

  /// Tells all subscribers; drops the event for those that are too slow.
  void publish(std::string_view topic, std::string_view text);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
