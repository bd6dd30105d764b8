#include "tracer/process_history.h"

#include <iterator>

namespace thermocline {
namespace {

constexpr std::uint32_t kKernel = 0xffffffff;
// Of forks without exec that are followed back; a loop of them is hostile.
constexpr int kMaxGenerations = 16;

}  // namespace

void ProcessHistory::add(ProcessEvent event) {
  using Kind = ProcessEvent::Kind;
  if (event.pid == kKernel) return;
  // Threads are forked, named and ended too, and map nothing.
  const bool thread = event.tid != event.pid;
  if (thread && event.kind != Kind::kMapped) return;
  if (event.kind == Kind::kMapped) ++mappings_;
  by_pid_[event.pid].push_back(std::move(event));
}

std::vector<Mapping> ProcessHistory::mappings_of(std::uint32_t pid) const {
  using Kind = ProcessEvent::Kind;
  std::vector<Mapping> newest_first;
  Nanos until = INT64_MAX;
  for (int generation = 0; generation < kMaxGenerations; ++generation) {
    const auto at = by_pid_.find(pid);
    if (at == by_pid_.end()) break;
    bool forked = false;
    for (auto event = at->second.rbegin(); event != at->second.rend();
         ++event) {
      if (event->time > until) continue;
      if (event->kind == Kind::kMapped) newest_first.push_back(event->mapping);
      const bool executed = event->kind == Kind::kNamed && event->exec;
      forked = event->kind == Kind::kForked && event->parent != pid;
      if (executed || forked) {
        until = event->time;
        pid = event->parent;
        break;
      }
    }
    if (!forked) break;
  }
  return {std::make_move_iterator(newest_first.rbegin()),
          std::make_move_iterator(newest_first.rend())};
}

std::string ProcessHistory::name_of(std::uint32_t pid) const {
  const auto at = by_pid_.find(pid);
  if (at == by_pid_.end()) return {};
  for (auto event = at->second.rbegin(); event != at->second.rend(); ++event) {
    if (event->kind == ProcessEvent::Kind::kNamed) return event->name;
  }
  return {};
}

Nanos ProcessHistory::ended(std::uint32_t pid) const {
  const auto at = by_pid_.find(pid);
  if (at == by_pid_.end()) return -1;
  for (auto event = at->second.rbegin(); event != at->second.rend(); ++event) {
    if (event->kind == ProcessEvent::Kind::kEnded) return event->time;
  }
  return -1;
}

}  // namespace thermocline
