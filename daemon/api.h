// Api: one request in, one response out; JSON text both ways.
//
// Knows nothing of sockets. Whatever bytes come in, exactly one valid JSON
// response goes out. A request is {"v":1,"op":"NAME", ...}; a response is
// {"v":1,"ok":true, ...} or {"v":1,"ok":false,"error":{"code","message"}}.
// API.md has every operation with an example; a test runs those examples.
//
// Who may ask: whoever can open the socket, which is its owner only, so every
// operation (shutdown too) is the owner's. Thread safety: as the service's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/service.h"

namespace thermocline {

class Api {
 public:
  static constexpr int kVersion = 1;
  static constexpr std::size_t kLargestRequest = 64 * 1024;

  /// Requires: the service outlives this.
  explicit Api(Service& service) : service_(service) {}

  std::string answer(std::string_view request);

  /// True once a shutdown was asked for.
  bool stopping() const { return stopping_; }

  struct Operation {
    std::string name;
    std::string summary;
  };
  static std::vector<Operation> operations();

 private:
  Service& service_;
  bool stopping_ = false;
};

}  // namespace thermocline
