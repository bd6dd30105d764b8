#include "training/ranks/window_in.h"

#include <algorithm>
#include <string>

namespace thermocline {
namespace {

// The least of all ranks' decides.
enum Gives : std::int64_t { kTooLittle, kNone, kEnough, kNeedsNone };

Gives given(std::size_t bytes, std::span<std::byte> memory) {
  if (memory.empty()) return bytes == 0 ? kNeedsNone : kNone;
  return memory.size() < bytes ? kTooLittle : kEnough;
}

}  // namespace

// Opening a window is collective, and of one kind on all ranks.
Result<std::unique_ptr<Window>> window_in(Ranks& ranks, std::size_t bytes,
                                          std::span<std::byte> memory) {
  const auto mine = given(bytes, memory);
  const auto gives = ranks.gather(mine);
  if (!gives) return gives.error();
  const auto least = std::min_element(gives->begin(), gives->end());
  if (mine == kTooLittle) {
    return invalid("too little memory for this rank's window: " +
                   std::to_string(memory.size()) + " of " +
                   std::to_string(bytes) + " bytes; give as many");
  }
  if (*least == kTooLittle) {
    return invalid("rank " + std::to_string(least - gives->begin()) +
                   " gives too little memory for its window");
  }
  return *least == kEnough ? ranks.window_over(memory.first(bytes))
                           : ranks.window(bytes);
}

}  // namespace thermocline
