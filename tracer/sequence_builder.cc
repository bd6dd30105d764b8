#include "tracer/sequence_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace thermocline {
namespace {

constexpr Address kLine = 64;  // bytes

}  // namespace

void OpenSequence::add(const Sample& access, std::uint32_t pid,
                       std::uint64_t executed) {
  const Address line = access.address / kLine;
  if (access.access == Access::kStore) {
    const bool first = unwritten.erase(line) != 0;
    if (access.source == Source::kL1 && !first) return;
  } else {
    if (access.source == Source::kL1) return;
    unwritten.insert(line);
  }
  auto& [sequence, whose] = seen;
  if (sequence.accesses.empty()) {
    sequence = {access.time, access.thread, access.cpu, {}};
    whose = pid;
    instructions = executed;
  }
  const std::uint64_t since = executed - std::min(executed, instructions);
  sequence.accesses.push_back(
      {access.address, access.ip,
       static_cast<std::uint32_t>(std::min<std::uint64_t>(
           since, std::numeric_limits<std::uint32_t>::max())),
       access.access, access.source});
  instructions = executed;
}

void SequenceBuilder::add(const Sample& access, std::uint32_t pid,
                          std::uint64_t instructions, bool begins,
                          std::vector<SeenSequence>& whole) {
  if (begins) {
    const auto before = open_.find(access.cpu);
    if (before != open_.end()) {
      if (before->second.seen.sequence.accesses.size() >= kFewest) {
        whole.push_back(std::move(before->second.seen));
      }
      open_.erase(before);
    }
    if (open_.size() == kMostCpus) return;
    open_[access.cpu] = {};
  }
  const auto at = open_.find(access.cpu);
  if (at == open_.end()) return;
  if (at->second.seen.sequence.accesses.size() == kMost) return;
  at->second.add(access, pid, instructions);
}

}  // namespace thermocline
