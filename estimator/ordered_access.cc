#include "estimator/ordered_access.h"

#include <unordered_map>

#include "traces/from_cache.h"

namespace thermocline {
namespace {

constexpr Address kPageLines = 64;

// A line that was in time before any other of its stream in the sequence tells
// that the stream was under way.
void find_streams(std::vector<OrderedAccess>& accesses) {
  std::unordered_map<Address, std::size_t> first;  // by line, its access
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    first.try_emplace(line_of(accesses[i].address), i);
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Address line = line_of(accesses[i].address);
    if (accesses[i].missed || first[line] != i) continue;
    const auto when = [&](Address other) {
      const auto at = first.find(other);
      return at == first.end() ? i : at->second;
    };
    const auto in_page = static_cast<int>(line % kPageLines);
    if (when(line + 1) > i && when(line - 1) >= i) {
      accesses[i].under_way = static_cast<std::int8_t>(in_page);
    } else if (when(line - 1) > i && when(line + 1) >= i) {
      accesses[i].under_way =
          static_cast<std::int8_t>(in_page - static_cast<int>(kPageLines) + 1);
    }
  }
}

OrderedSequence in_order(const AccessSequence& sequence,
                         const AccessClasses& classes) {
  OrderedSequence out{sequence.time, {}};
  std::unordered_map<Address, std::size_t> brought;  // by line, the access
  double instructions = 0;
  std::uint64_t since = 0;
  for (const SequencedAccess& access : sequence.accesses) {
    since += access.instructions;
    instructions += access.instructions;
    const Address line = line_of(access.address);
    if (writes_only(access)) {
      const auto its = brought.find(line);
      if (its != brought.end()) out.accesses[its->second].written = true;
      continue;
    }
    brought[line] = out.accesses.size();
    out.accesses.push_back(
        {access.address, static_cast<float>(since),
         static_cast<std::uint16_t>(classes.of(access.ip, access.access)),
         !is_cache(access.source)});
    since = 0;
  }
  if (out.accesses.size() < 2) return {};
  find_streams(out.accesses);
  out.accesses.front().instructions = static_cast<float>(
      instructions / static_cast<double>(out.accesses.size() - 1));
  return out;
}

}  // namespace

std::vector<OrderedSequence> ordered_sequences(const Trace& trace,
                                               const AccessClasses& classes) {
  std::vector<OrderedSequence> out;
  for (const AccessSequence& sequence : trace.sequences) {
    auto one = in_order(sequence, classes);
    if (!one.accesses.empty()) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace thermocline
