#include "tracer/sequence_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace thermocline {

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
    open_[access.cpu] = {{{access.time, access.thread, access.cpu, {}}, pid},
                         instructions};
  }
  const auto at = open_.find(access.cpu);
  if (at == open_.end() || access.source == Source::kL1) return;
  Open& open = at->second;
  auto& accesses = open.seen.sequence.accesses;
  if (accesses.size() == kMost) return;
  const std::uint64_t since =
      instructions > open.instructions && !accesses.empty()
          ? instructions - open.instructions
          : 0;
  accesses.push_back({access.address, access.ip,
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(
                          since, std::numeric_limits<std::uint32_t>::max())),
                      access.access, access.source});
  open.instructions = instructions;
}

}  // namespace thermocline
