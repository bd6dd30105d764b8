// Target: one managed process, its regions and where their pages lie.
//
// refresh() is called once per window: it reads /proc/PID/maps (and parses it
// only when it changed), lets the region map grow, and asks the kernel with
// move_pages where a bounded number of pages lie: regions never asked about
// first, then those that were asked for with want(), then a rolling slice of
// the rest. So a window costs the same however large the job is, and what is
// known of a region may be some windows old. Memory is mapped first and written
// afterwards: a region that was not all there when its mapping came is asked
// about again one, two, four and eight windows later, as far as half of what is
// left for a window allows. Of a job whose pages stay where
// they are the slice halves from window to window, for to ask is most of what
// a daemon with nothing to do takes (0.2 us a page); as soon as a page is seen
// elsewhere, or the process has more or less memory, it is whole again.
//
// A mapping for which there are not enough regions is cut coarser, and where it
// is hot finer again: adapt().
//
// Managed are the pages that only this process can have written: private
// writable mappings, anonymous or of a file, and what the loader wrote and
// sealed (RELRO; of a job with LibTorch 10 MiB and more). Shared mappings and
// program text are left alone unless `move_shared`; mappings that the job
// itself bound to nodes or locked are seen but not movable (tied_memory.h).
//
// Thread safety: none. Requires: kernel and machine outlive the target.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/mover.h"
#include "daemon/process.h"
#include "daemon/region_heat.h"
#include "daemon/split_regions.h"
#include "daemon/syscalls.h"
#include "daemon/tied_memory.h"
#include "estimator/machine.h"
#include "policies/swing.h"
#include "tracer/maps.h"

namespace thermocline {

class HugePages;

class Target {
 public:
  struct Options {
    Bytes region_bytes = 256 * 1024;          // power of two, >= a page
    std::uint64_t pages_per_window = 32'768;  // asked about in one refresh()
    std::uint64_t pages_when_steady =
        2'048;                      // the least, where nothing changes
    std::size_t regions = 262'144;  // at most
    bool move_shared = false;
    TiedMemory::Options tied = {};
  };

  /// Errors: kNotFound (no such process, or it has ended), kInvalid (a kernel
  /// thread), kPermission (another user's, and we lack CAP_SYS_PTRACE).
  static Result<Target> attach(Kernel& kernel, const Machine& machine, int pid,
                               Options options);

  /// Brings everything up to date. Errors: kNotFound when the process has
  /// ended or its pid now names another one.
  Status refresh();
  /// Looks how much memory the process has now; cheap, and worth doing often
  /// within a window. Without effect when it has ended.
  void glance();
  /// What it is likely to ask for anew soon, by its swings so far.
  Bytes newborn() const { return swing_.more(); }

  int pid() const { return process_.pid; }
  /// Under which its memory is asked about and moved: thread_with_memory().
  int memory_id() const { return memory_id_; }
  const std::string& name() const { return process_.name; }
  const Process& process() const { return process_; }

  /// Regions are numbered from 0; a number that has no region (any more) is of
  /// an empty one.
  std::size_t size() const { return map_.size(); }
  /// Of the smallest; all are as large unless there is too much memory for it
  /// (split_regions.h).
  Bytes region_bytes() const { return map_.region_bytes(); }
  /// Whether there are larger ones.
  bool adapts() const { return !map_.large().empty(); }
  const Region& region(ObjectId id) const { return map_.region(id); }
  std::optional<ObjectId> find(Address address) const {
    return map_.find(address);
  }
  /// The regions that [start, end) touches, by address.
  std::vector<ObjectId> touching(Address start, Address end) const {
    return map_.touching(start, end);
  }
  /// Bytes of the region that lie in a tier, as last seen.
  Bytes bytes(ObjectId id, TierId tier) const {
    return pages_[id * tiers_ + tier] * page_bytes_;
  }
  Bytes bytes(ObjectId id) const;
  /// Where most of its bytes lie (the faster one of equals); 0 for none.
  TierId tier(ObjectId id) const;
  /// Whether the job tied it down, or that cannot be told.
  bool bound(ObjectId id) const { return tie(id) != Tie::kNone; }
  Tie tie(ObjectId id) const { return seen_[id].tie; }
  /// Why it cannot be told; empty when it can.
  const std::string& tied_trouble() const { return tied_.trouble(); }
  /// Whether it lies in a huge page, as last seen: as the kernel says, or,
  /// where it does not tell, as its last move showed.
  bool huge(ObjectId id) const { return seen_[id].huge; }
  /// Whether the last refresh() saw all its pages in this tier, none of them in
  /// a huge page.
  bool lies_whole_in(ObjectId id, TierId tier) const {
    const Bytes all = map_.region(id).bytes();
    return seen_[id].looked == window_ - 1 && !seen_[id].huge &&
           bytes(id, tier) == all && (huge_bytes_ == 0 || all <= huge_bytes_);
  }
  /// Not where huge_bytes() is 0.
  bool any_huge() const { return huge_regions_ > 0; }
  /// Bytes of a huge page; 0: the kernel has none.
  Bytes huge_bytes() const { return huge_bytes_; }
  /// Its mappings that may be managed, ascending.
  const std::vector<Area>& areas() const { return areas_; }

  /// Bytes of all regions in a tier, as last seen.
  Bytes footprint(TierId tier) const { return pages_in_[tier] * page_bytes_; }
  Bytes footprint() const;
  /// Bytes of mappings that are not managed for want of regions.
  Bytes unmanaged() const { return unmanaged_; }
  /// Lines of maps that could not be understood, since attach.
  std::uint64_t malformed() const { return malformed_; }

  /// Splits regions that were hot and merges those that were not, by how many
  /// samples each had in the window that is over. Worth a call where adapts().
  /// Requires: no moves are on their way.
  /// Returns: of each whole that was split or merged, its parts; the first has
  /// the whole's number.
  std::vector<std::vector<ObjectId>> adapt(std::span<const double> samples);

  /// The page addresses of a region that may be moved, ascending.
  std::vector<Address> pages(ObjectId id) const;
  /// Asks about this region at the next refresh().
  void want(ObjectId id);
  /// Takes over what a mover found out.
  void note(const MoveOutcome& outcome);

 private:
  struct Seen {
    Address start = 0;  // of the region when asked
    Address end = 0;
    Tie tie = Tie::kNone;
    bool huge = false;
    bool queued = false;
    bool mapped = false;
    std::uint8_t wait = 0;  // windows until it is asked again; 0: in its turn
    std::int64_t due = 0;   // the window for that
    std::int64_t looked = -1;  // the window when asked last; -1: since changed
  };

  Target(Kernel& kernel, const Machine& machine, Process process,
         Options options);
  Status read_maps();
  void take_over_maps();
  void mark_tied();
  bool candidate(const Area& area, const Area* next) const;
  bool is_reservation(const Area& area) const;
  void add_area(Area area);
  void notice_growth();
  void notice_mapped();
  void ask_soon(ObjectId id);
  void ask_again_later(ObjectId id);
  void know(ObjectId id);
  std::uint64_t pages_to_ask(ObjectId id) const;
  void share_out(std::span<const ObjectId> parts);
  Status ask();
  /// Returns whether one of them has pages elsewhere than was known.
  Result<bool> ask_about(std::span<const ObjectId> ids);
  bool take_over(ObjectId id, std::span<const Address> pages,
                 std::span<const int> nodes, HugePages& huge);
  void settle(bool changed);
  void see_huge(ObjectId id, bool huge);
  template <typename Each>
  void for_each_page(ObjectId id, Each each) const;
  /// Returns whether that is news.
  bool set_pages(ObjectId id, TierId tier, std::uint32_t pages);

  Kernel* kernel_;
  const Machine* machine_;
  std::size_t tiers_;
  Process process_;
  int memory_id_;
  Options options_;
  Bytes page_bytes_;
  Bytes huge_bytes_;
  SplitRegions map_;
  RegionHeat heat_;
  std::string maps_text_;    // what areas_ are of
  std::string maps_now_;     // a buffer: as just read
  std::vector<Area> areas_;  // candidates, ascending
  TiedMemory tied_;
  std::vector<Seen> seen_;               // by region
  std::size_t huge_regions_ = 0;         // of those
  std::vector<std::uint32_t> pages_;     // region * tiers + tier
  std::vector<std::uint64_t> pages_in_;  // by tier
  std::deque<ObjectId> queue_;           // to be asked about before the rest
  // To be asked about again, the window first; of two of one region that holds
  // which Seen::due says.
  std::set<std::pair<std::int64_t, ObjectId>> again_;
  std::size_t rolling_ = 0;
  std::uint64_t slice_;   // pages that the rolling look may ask about
  Bytes resident_ = 0;    // as last seen
  Bytes settled_at_ = 0;  // resident_ a window before
  Bytes read_at_ = 0;     // and when the maps were read
  std::int64_t window_ = 0;
  Swing swing_;
  Bytes unmanaged_ = 0;
  std::uint64_t malformed_ = 0;
};

// Here, for a window asks them of each region.
inline Bytes Target::bytes(ObjectId id) const {
  Bytes sum = 0;
  for (std::size_t t = 0; t < tiers_; ++t) sum += pages_[id * tiers_ + t];
  return sum * page_bytes_;
}

inline TierId Target::tier(ObjectId id) const {
  const std::uint32_t* const pages = &pages_[id * tiers_];
  std::size_t best = 0;
  for (std::size_t t = 1; t < tiers_; ++t) {
    if (pages[t] > pages[best]) best = t;
  }
  return static_cast<TierId>(best);
}

}  // namespace thermocline
