#include "estimator/ordered_access.h"

#include "traces/from_cache.h"

namespace thermocline {

std::vector<OrderedSequence> ordered_sequences(const Trace& trace,
                                               const AccessClasses& classes) {
  std::vector<OrderedSequence> out;
  for (const AccessSequence& sequence : trace.sequences) {
    if (sequence.accesses.size() < 2) continue;
    OrderedSequence one{sequence.time, {}};
    double instructions = 0;
    for (const SequencedAccess& access : sequence.accesses) {
      instructions += access.instructions;
      one.accesses.push_back(
          {access.address, static_cast<float>(access.instructions),
           static_cast<std::uint16_t>(classes.of(access.ip, access.access)),
           !is_cache(access.source)});
    }
    one.accesses.front().instructions = static_cast<float>(
        instructions / static_cast<double>(sequence.accesses.size() - 1));
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace thermocline
