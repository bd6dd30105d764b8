// TiedMemory: which memory of a process its job has tied down: bound to nodes
// (MPOL_BIND), locked (mlock), or of pages that were reserved (hugetlbfs). None
// of it is moved.
//
// The kernel would move it (move_pages(2) asks no policy); but whoever locks
// memory wants no faults there, which a page that moves is, and to move a
// reserved page takes one from those that were reserved on the other node. What
// is bound or reserved it tells in numa_maps, what is locked in smaps; to write
// either it walks over all pages of the process (10 ms a GiB of 4-KiB pages).
// So it is looked at when there are areas that were not there at the last look
// (mbind and mlock of a part make new ones), when the process has locked more
// or less (VmLck), and every 64 windows; but looks never take more than 1/200
// of the time. Where the next one must wait, an area that is new counts as tied
// in a process that has ever tied any, and as free in one that has tied none so
// far. An area that has only grown is as it was.
//
// What cannot be read is not taken for free: everything then counts as tied,
// and trouble() says why. A kernel without numa_maps has no policies.
//
// Preferred and interleaved memory (MPOL_PREFERRED, MPOL_INTERLEAVE) is not
// tied: these say where memory is born, not that it must stay.
//
// Source: man 5 proc; man 7 numa; fs/proc/task_mmu.c (show_numa_map).
// Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "daemon/syscalls.h"
#include "tracer/maps.h"

namespace thermocline {

class TiedMemory {
 public:
  struct Options {
    bool move_bound = false;   // bound memory is not tied
    bool move_locked = false;  // nor is what is locked
    std::int64_t every = 64;   // windows between looks, at most
  };

  /// Requires: the kernel outlives this.
  TiedMemory(Kernel& kernel, Options options);

  /// Once a window, with the id of the process's memory (thread_with_memory)
  /// and what is mapped now, ascending. `changed`: not as in the window before.
  /// Returns whether an answer of holds() may have changed.
  bool see(int pid, std::span<const Area> mapped, bool changed);

  /// Whether the area is tied down. Requires: it was among those seen last.
  bool holds(const Area& area) const;

  /// Why nothing can be said, with the remedy; empty when all could be read.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Looked {
    Address end = 0;
    bool tied = false;
  };

  bool is_new(const Area& area) const;
  void look(const std::string& directory, std::span<const Area> mapped);

  Kernel* kernel_;
  Options options_;
  std::map<Address, Looked> looked_;  // by start, at the last look
  bool any_new_ = true;               // since then
  bool ever_tied_ = false;
  std::uint64_t locked_ = 0;  // VmLck then; 0 where locked may move
  std::int64_t windows_ = 0;  // since then
  Nanos next_look_ = 0;       // not before
  std::string trouble_;
};

}  // namespace thermocline
