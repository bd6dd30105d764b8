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
// is parsed once and then known by its text, whatever number comes last in it
// as its id. Who may ask is looked at each time.
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
  /// The same, into a text whose memory is used again.
  void answer(std::string_view request, const Caller& caller, std::string& out);

  /// From begin_turn() to end_turn() nothing changes but by requests: what is
  /// asked again, without fields, is answered as it was.
  void begin_turn() { in_turn_ = true; }
  void end_turn();

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
  void reply_to(const Asked& asked, const Caller& caller, std::string& out);
  std::string response_to(const Asked& asked, const Caller& caller);
  void know(std::string_view text, const Asked& asked);

  Service& service_;
  Audit audit_;
  bool stopping_ = false;
  bool in_turn_ = false;
  // Text up to an id, without its last brace: operation.
  std::map<std::string, std::size_t, std::less<>> known_;
  // Operation: its answer.
  std::map<std::size_t, std::string> constants_, of_this_turn_;
};

}  // namespace thermocline
