// The checksumming target: memory of which every byte is verified by the
// threads that rewrite it, over and over, while somebody moves its pages.
//
// Every page has a pattern of its own and a count of how often it was
// rewritten, so that a page lost, torn, swapped with another or taken back to
// an older state is seen. Seven eighths of the memory may be huge pages.
//
// Thread safety: the board's members are atomic, the rest is of one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "traces/types.h"

namespace thermocline {

constexpr Bytes kTargetPage = 4096;
constexpr Bytes kTargetBase = 8;  // one part in so many has no huge pages

/// What the target and its parent both see: in memory that they share.
struct Board {
  std::atomic<std::uint64_t> memory{0};  // address, once it is written
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> moved{0};     // pages, told by who moves them
  std::atomic<std::uint64_t> verified{0};  // pages
  std::atomic<std::uint64_t> wrong{0};     // words
};

/// A board that children forked from here share; none: no memory.
Board* make_board();

/// In a child: is the target of `bytes` with `threads`, until it is told to
/// stop or its parent ends. Its threads are `ahead` pages ahead of `moved` at
/// most, so that the moves are what takes the time.
[[noreturn]] void be_target(Board& board, Bytes bytes, int threads,
                            std::uint64_t ahead);

/// Waits until each page was verified once more. False: the target has gone.
bool verify_all(Board& board, int pid, Bytes bytes);

}  // namespace thermocline
