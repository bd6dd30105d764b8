// DecisionChannel: how a policy reaches a program that decides in its place.
//
// Policies are pure; what speaks to the world is registered under a name by
// those who may (the daemon: "zmq"), and handed in. Tests hand in a script.
//
// Thread safety: none; one channel a policy.
#pragma once

#include <string>

#include "traces/registry.h"
#include "traces/types.h"

namespace thermocline {

class DecisionChannel {
 public:
  virtual ~DecisionChannel() = default;

  /// The answer to a request, one line of text each. Returns within about
  /// `deadline`. Errors: kNotFound, nobody listens (said at once, from the
  /// second time on); kIo, no answer in time; kPermission, the other end
  /// belongs to somebody who must not decide.
  virtual Result<std::string> ask(const std::string& request,
                                  Nanos deadline) = 0;
};

// In the registry: name -> DecisionChannel.

}  // namespace thermocline
