// TiedMemory: which memory of a process its job has tied down: bound to nodes
// (MPOL_BIND), locked (mlock), or of pages that were reserved (hugetlbfs). None
// of it is moved.
//
// The kernel would move it (move_pages(2) asks no policy); but whoever locks
// memory wants no faults there, which a page that moves is, and to move a
// reserved page takes one from those that were reserved on the other node. To
// look at it makes the kernel walk over all pages of the process (tie_look.h).
// So it is looked at when there are areas that were not there at the last look
// (mbind and mlock of a part make new ones), when the process has locked more
// or less (VmLck), and every 64 windows; but looks never take more than 1/200
// of the time. Where the next one must wait, an area that is new counts as tied
// where it may well be: in a process that has ever bound or reserved memory,
// that has locked more since (VmLck; libraries lock a page or two for keys), or
// in which something that was tied is no longer where it was. A part of an area
// that was tied is tied, one that has only grown is as it was. Until the first
// look is over all counts as tied.
//
// With `aside` on a kernel that any thread may ask, a look is taken on a thread
// of its own. The caller waits for it for `patience`, which is enough for some
// GiB, and then for no walk over a terabyte: what it saw is known in the window
// after it is over. The first begins with the second see(): attaching to a
// process begins no thread.
//
// What cannot be read is not taken for free: everything then counts as tied,
// and trouble() says why.
//
// Preferred and interleaved memory (MPOL_PREFERRED, MPOL_INTERLEAVE) is not
// tied: these say where memory is born, not that it must stay.
//
// Source: man 7 numa. Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <span>
#include <string>

#include "daemon/syscalls.h"
#include "daemon/tie_look.h"
#include "tracer/maps.h"

namespace thermocline {

class TiedMemory {
 public:
  struct Options {
    bool move_bound = false;      // bound memory is not tied
    bool move_locked = false;     // nor is what is locked
    std::int64_t every = 64;      // windows between looks, at most
    bool aside = false;           // looks are taken beside the caller
    Nanos patience = 50'000'000;  // who waits so long for one, and no longer
  };

  /// Requires: the kernel outlives this. Destruction waits for a look that is
  /// being taken.
  TiedMemory(Kernel& kernel, Options options);

  /// Once a window, with the id of the process's memory (thread_with_memory)
  /// and what is mapped now, ascending. `changed`: not as in the window before.
  /// Returns whether an answer of tie() may have changed.
  bool see(int pid, std::span<const Area> mapped, bool changed);

  /// How the area is tied down. Requires: it was among those seen last.
  Tie tie(const Area& area) const;

  /// Why nothing can be said, with the remedy; empty when all could be read.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Looked {
    Address end = 0;
    Tie tie = Tie::kNone;
  };

  // A look that was taken, and of what.
  struct Taken {
    TieLook look;
    std::map<Address, Looked> areas;  // by start
    std::uint64_t locked = 0;         // VmLck when it began
  };

  bool is_new(const Area& area) const;
  bool any_gone(std::span<const Area> mapped) const;
  void compare(std::span<const Area> mapped);
  bool part_of_tied(const Area& area) const;
  bool due();
  void begin(const std::string& directory, std::span<const Area> mapped);
  bool arrived(Nanos patience) const;
  void take_over(Taken taken);

  Kernel* kernel_;
  Options options_;
  std::future<Taken> look_;           // being taken
  std::map<Address, Looked> looked_;  // by start, at the last look
  bool any_new_ = true;               // since then
  bool ever_seen_ = false;
  bool ever_looked_ = false;
  bool tied_gone_ = false;    // something that was tied is not where it was
  bool ever_bound_ = false;   // or reserved
  std::uint64_t locked_ = 0;  // VmLck then; 0 where locked may move
  std::uint64_t locked_now_ = 0;
  std::int64_t windows_ = 0;  // since then
  Nanos next_look_ = 0;       // not before
  std::string trouble_;
};

}  // namespace thermocline
