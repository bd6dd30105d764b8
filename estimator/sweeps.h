// Sweeps: one pass over memory that reads or writes all of it, in order.
//
// What `thermocline probe` times to learn a tier's bandwidth. The written
// value differs from pass to pass, so that no pass can be left out.
// Thread safety: pure; the memory is the caller's, and threads share none.
#pragma once

#include <cstdint>
#include <span>

namespace thermocline {

/// The sum of all words.
std::uint64_t read_sweep(std::span<const std::uint64_t> words);

/// With ordinary stores: most processors read a line before they change it.
void write_sweep(std::span<std::uint64_t> words, std::uint64_t value);

/// With non-temporal stores, past the caches, where the processor has them
/// (x86); else as write_sweep. Ordered before what comes after it.
/// Requires: whole, aligned lines.
void write_around_sweep(std::span<std::uint64_t> words, std::uint64_t value);

/// The same, not ordered: many of them may be under way, until
/// finish_writes_around() waits for them.
void write_around(std::span<std::uint64_t> words, std::uint64_t value);
void finish_writes_around();

/// Whether write_around_sweep() goes past the caches.
bool can_write_around();

}  // namespace thermocline
