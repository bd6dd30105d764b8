// SequenceBuilder: puts records of accesses, one after the other, together to
// sequences.
//
// Of each CPU one sequence is open; it is whole when the next begins. Of loads
// that the first cache served none is recorded; of stores processors cannot be
// asked for the others alone. Of these the first to each line that a load of
// the sequence brought is kept: the line will go back. A sequence of which a
// record is missing is dropped.
//
// Thread safety: none. Memory: kMost accesses for each CPU that was seen.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "tracer/sampler.h"

namespace thermocline {

// A sequence that accesses are added to. What was executed by those that are
// left out is not.
struct OpenSequence {
  SeenSequence seen;
  std::uint64_t instructions = 0;         // at the last access that was kept
  std::unordered_set<Address> unwritten;  // lines that its loads brought

  /// `executed`: instructions of its thread so far, by any count.
  void add(const Sample& access, std::uint32_t pid, std::uint64_t executed);
};

class SequenceBuilder {
 public:
  static constexpr std::size_t kMost = 4096;  // accesses of one
  static constexpr std::size_t kMostCpus = 4096;
  static constexpr std::size_t kFewest = 16;  // shorter ones tell nothing

  /// One access. `begins`: a sequence, whatever came before on its CPU.
  /// `instructions`: that its thread has executed so far, by any count.
  void add(const Sample& access, std::uint32_t pid, std::uint64_t instructions,
           bool begins, std::vector<SeenSequence>& whole);
  /// What is open cannot be told whole.
  void lost() { open_.clear(); }

 private:
  std::map<std::uint32_t, OpenSequence> open_;  // by CPU
};

}  // namespace thermocline
