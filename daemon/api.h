// Api: one request in, one response out; JSON text both ways.
//
// Knows nothing of sockets. Whatever bytes come in, exactly one valid JSON
// response goes out. A request is {"v":1,"op":"NAME", ...}; a response is
// {"v":1,"ok":true, ...} or {"v":1,"ok":false,"error":{"code","message"}}.
// API.md has every operation with an example; a test runs those examples.
//
// Operations that change something need the operator role, and are told to
// `audit`, refused ones too. Thread safety: as the service's.
//
// Who polls sends the same text again and again: a request that has no fields
// and no id is parsed once and then known by its text. Who may ask is looked
// at each time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/caller.h"
#include "daemon/service.h"

namespace thermocline {

class Api {
 public:
  static constexpr int kVersion = 1;
  static constexpr std::size_t kLargestRequest = 64 * 1024;

  /// Gets one line for each request to change something: who, what, and what
  /// came of it.
  using Audit = std::function<void(const std::string&)>;

  /// Requires: the service outlives this.
  explicit Api(Service& service, Audit audit = {})
      : service_(service), audit_(std::move(audit)) {}

  std::string answer(std::string_view request, const Caller& caller = owner());

  /// True once a shutdown was asked for.
  bool stopping() const { return stopping_; }

  struct Operation {
    const char* name;
    const char* summary;
    bool changes;  // needs the operator role
  };
  static std::vector<Operation> operations();

 private:
  struct Asked;
  std::string reply_to(const Asked& asked, const Caller& caller);

  Service& service_;
  Audit audit_;
  bool stopping_ = false;
  std::map<std::string, std::size_t, std::less<>> known_;  // text: operation
  std::map<std::size_t, std::string> constants_;  // operation: its answer
};

}  // namespace thermocline
