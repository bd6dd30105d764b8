// ask, ask_all and Events: a client of a running thermoclined, or of many.
//
// Over its Unix socket, or over TCP with keys (keys.h). Thread safety: every
// call of ask(), and every Events, has its own socket.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

// Where the service is, and by which keys.
struct ServiceAddress {
  std::string socket;  // path of a Unix socket, or tcp://HOST:PORT
  std::string keys;    // for TCP: directory with a key pair and server.key
  std::string server_key = {};  // the service's public key; "": server.key
};

/// Over TCP, not a Unix socket.
bool is_remote(const ServiceAddress& access);

/// Sends `request` (JSON text, see API.md) and waits up to `timeout_ms` for its
/// answer, which is returned as it came. Errors: kNotFound when there is no
/// such socket, kPermission when it is not ours, kIo when nobody answers, those
/// of read_keys(); each says what to do.
Result<std::string> ask(const ServiceAddress& access,
                        const std::string& request, int timeout_ms);

/// Asks all of them at once, the same; the answers in their order. However
/// many do not answer, it takes `timeout_ms` at most (for each 500 of them).
std::vector<Result<std::string>> ask_all(
    const std::vector<ServiceAddress>& services, const std::string& request,
    int timeout_ms);

class Events {
 public:
  /// Subscribes to a topic; empty: to all. Errors: as ask(), but that a service
  /// which is not there over TCP is waited for.
  static Result<Events> open(const ServiceAddress& access,
                             const std::string& topic);
  Events(Events&&) noexcept;
  Events& operator=(Events&&) noexcept;
  ~Events();

  /// The next event, JSON text; none when there was none for so long, or a
  /// signal came.
  std::optional<std::string> next(int timeout_ms);

 private:
  struct Impl;
  explicit Events(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
