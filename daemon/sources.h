// Sources: the samplers that feed a service, opened by one description.
//
// "perf" and "pages" need one sampler a target, opened and closed as targets
// come and go; a stream or "none" is one for all. A source that fails later is
// dropped with a notice to the service: the daemon goes on without samples.
//
// Thread safety: none.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/service.h"
#include "tracer/sampler.h"

namespace thermocline {

/// How long a source is left alone after `count` samples came from it: many
/// small wake-ups cost more than the samples. On an emulated machine, where as
/// many come in a longer time, longer (Service::dilation), but not until there
/// are many.
Nanos rest_after(std::size_t count, double dilation);

class Sources {
 public:
  /// Opens what serves all targets. Errors: those of open_sampler.
  static Result<Sources> open(const std::string& source);

  /// Opens samplers for new targets, closes those of gone ones. Errors: those
  /// of open_sampler for the first that fails; its target is not tried again.
  Status follow(const std::vector<int>& pids);

  /// Adds the descriptors to wait for; returns milliseconds until one that
  /// rests wants to be waited for again, or -1.
  int watch(std::vector<pollfd>& into, Nanos now) const;

  /// Reads what is there and hands it to the service; never blocks. With
  /// `all`, also what has no descriptor or rests.
  void read(Service& service, Nanos now, bool all);

 private:
  struct One {
    int pid = 0;                       // 0: for all targets
    std::unique_ptr<Sampler> sampler;  // nullptr: failed or ended
    Nanos rests_until = 0;
  };
  explicit Sources(std::string source) : source_(std::move(source)) {}
  bool per_target() const;

  std::string source_;
  std::vector<One> all_;
};

}  // namespace thermocline
