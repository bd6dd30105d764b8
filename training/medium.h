// Medium: bytes that can be made to survive, and how they are made to.
//
// All that is written to a pool goes through this interface, so that the tests
// put a recorder in its place and try every state in which a crash can leave
// the very writes that a job makes. The real one is MappedFile.
//
// A store is durable in two steps. The thread that wrote it calls fence();
// then somebody calls sync() on the range. Which of the two does the work
// depends on the granularity; a caller that does both, in this order, is right
// on all. Of what is not yet durable, any part may survive a crash: caches and
// the kernel write back when they like.
// Thread safety: write() and fence() from any thread, on ranges that do not
// overlap; the rest by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "traces/result.h"
#include "traces/types.h"
#include "traces/varint.h"

namespace thermocline {

// What has to be pushed out of the way of a crash, and by what.
enum class Granularity {
  kByte,  // caches survive a power cut (eADR): a fence orders
  kLine,  // DAX: cache lines are flushed, a fence waits for them
  kPage,  // an ordinary file: fdatasync
};

/// "byte", "line" or "page".
constexpr const char* granularity_name(Granularity granularity) {
  switch (granularity) {
    case Granularity::kByte: return "byte";
    case Granularity::kLine: return "line";
    case Granularity::kPage: return "page";
  }
  return "unknown";
}

// How far to trust a medium.
struct Durability {
  Granularity granularity = Granularity::kPage;
  bool power_cut = false;  // what was synced is known to survive one
  // When it is not: whether it does is not known (overlayfs, NFS, ...), rather
  // than known not to.
  bool unknown = false;
  std::string why = "";  // not: "it lies in memory (tmpfs)"
};

class Medium {
 public:
  virtual ~Medium() = default;

  /// All of it, as a reader sees it.
  virtual ByteSpan bytes() const = 0;
  /// Whether a range of it can be loaded from, or stored to: persistent memory
  /// may have bad blocks, and a file may be cut short behind one's back, and
  /// whoever touches that ends with SIGBUS. To be asked before. What is asked
  /// again may have changed. Errors: kCorrupt.
  virtual Status loadable(Bytes, Bytes) const { return {}; }
  virtual Status storable(Bytes, Bytes) { return {}; }
  /// Whether what is written will be found again: a file may be removed behind
  /// one's back. Errors: kIo.
  virtual Status findable() const { return {}; }
  virtual Durability durability() const = 0;

  /// Stores bytes at `offset` and sends them on their way.
  virtual void write(Bytes offset, ByteSpan bytes) = 0;
  /// Stores 8 bytes at once: a crash leaves the old word or the new one.
  /// Requires: offset is a multiple of 8.
  virtual void write_word(Bytes offset, std::uint64_t word) = 0;
  /// Waits for what this thread has written (kByte, kLine).
  virtual void fence() = 0;
  /// Waits until the range is durable (kPage). Errors: kIo.
  virtual Status sync(Bytes offset, Bytes size) = 0;
};

}  // namespace thermocline
