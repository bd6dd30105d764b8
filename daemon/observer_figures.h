// ObserverFigures: the numbers that jobs' tensor observers tell of themselves,
// the latest of each, by process and name.
//
// Bounded: kMostJobs processes and kMostNames names each; what is beyond is
// left out. A process that has ended is kept, for the report. Thread safety:
// none.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tracer/observer_server.h"

namespace thermocline {

class ObserverFigures {
 public:
  using Figures = std::map<std::string, std::uint64_t>;
  static constexpr std::size_t kMostJobs = 64;
  static constexpr std::size_t kMostNames = 64;

  void hear(int pid, const ObserverFigure& figure) {
    if (!all_.contains(pid) && all_.size() >= kMostJobs) return;
    auto& figures = all_[pid];
    if (!figures.contains(figure.name) && figures.size() >= kMostNames) return;
    figures[figure.name] = figure.value;
  }
  /// Of one process; empty when it told none.
  Figures of(int pid) const {
    const auto at = all_.find(pid);
    return at == all_.end() ? Figures() : at->second;
  }
  const std::map<int, Figures>& all() const { return all_; }

 private:
  std::map<int, Figures> all_;
};

}  // namespace thermocline
