// Arenas: memory for a process's own tensors, each class on pages of its own.
//
// Tensors of one class lie side by side in one run of addresses, so that no
// page holds two classes and what is alike can be moved in one piece. Large
// tensors begin on a page of their own; small ones share pages with their
// class's. A general allocator puts together what is of like size; what is
// needed here is what is of like heat, densely, so this one keeps an ExtentHeap
// a class and size, and asks the kernel for memory itself.
//
// A run is reserved whole at the start (addresses only, no memory) and made
// usable as it is needed. What is free goes back to the kernel (MADV_DONTNEED)
// above `keep_bytes`. Fragmentation is bounded: memory beyond `overhead` times
// what is live, plus keep_bytes, is not asked for; the caller is refused and
// has to go elsewhere.
//
// Thread safety: every member may be called from any thread. Ownership: the
// memory lives until the Arenas are destroyed; a process that cannot know when
// its last tensor dies never destroys them.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tracer/extent_heap.h"
#include "traces/result.h"

namespace thermocline {

class Arenas {
 public:
  struct Options {
    std::size_t classes = 1;
    Bytes keep_bytes = 256 << 20;  // free memory that may be kept
    double overhead = 2;           // reserved over live, at most
    Bytes large_bytes = 4 * 4096;  // from here on, pages of its own
    bool huge_pages = false;       // 2-MiB pages, tensors aligned to them
    Bytes reserve_bytes = 0;       // addresses a run; 0: as much as RAM
  };
  struct Totals {
    Bytes live = 0;
    Bytes reserved = 0;  // live, and free but perhaps with pages
    Bytes peak_live = 0;
    Bytes peak_reserved = 0;
    Bytes returned = 0;             // to the kernel, in all
    std::uint64_t taken = 0;        // calls that were served
    std::uint64_t refused = 0;      // and that were not
    std::uint64_t blocks = 0;       // live
    std::uint64_t pages = 0;        // on which something live lies
    std::uint64_t least_pages = 0;  // if every class were without a gap
  };
  static constexpr Bytes kAlign = 64;  // c10::gAlignment
  static constexpr Bytes kHugePage = 2 << 20;

  /// Reserves the addresses. Errors: kInvalid for options that contradict each
  /// other, kUnsupported when the process may not have so many addresses.
  static Result<std::unique_ptr<Arenas>> make(Options options);
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;
  ~Arenas();

  /// Returns: memory aligned to kAlign, or nullptr: no addresses or memory
  /// left, or too much of what there is lies free. Requires: bytes > 0, the
  /// class below options.classes.
  void* take(std::size_t of_class, Bytes bytes);
  /// Requires: owns(memory), and it was taken.
  void give_back(void* memory);
  /// Whether take() may have returned it. Cheap, takes no lock.
  bool owns(const void* memory) const {
    const auto at = reinterpret_cast<Address>(memory);
    return at >= base_ && at - base_ < run_bytes_ * runs_.size();
  }
  /// The class of an owned address.
  std::size_t class_of(const void* memory) const;

  /// Cost: one look at every live block.
  Totals totals() const;

  /// Around fork(), from its handlers.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Run {
    Run(Address begin, Bytes granule)
        : start(begin), top(begin), heap(granule) {}
    Address start;
    Address top;  // what is below is usable
    ExtentHeap heap;
  };
  explicit Arenas(const Options& options);
  Status reserve();
  bool grow(Run& run, Bytes bytes);  // requires mutex_, as do the next two
  void clean(Bytes keep);
  void note_peaks();

  const Options options_;
  const Bytes page_;
  Address base_ = 0;
  Bytes mapped_ = 0;
  Address mapping_ = 0;
  Bytes run_bytes_ = 0;
  mutable std::mutex mutex_;
  std::vector<Run> runs_;  // small and large ones of each class in turn
  Bytes live_ = 0;
  Bytes dirty_ = 0;
  Totals sums_;
};

}  // namespace thermocline
