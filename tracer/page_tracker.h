// PageTracker: which pages of a process were touched since the last look, where
// no PMU can say it.
//
// The kernel has three means, each told apart by its name:
//   soft-dirty  stores only, page by page (CONFIG_MEM_SOFT_DIRTY)
//   idle        loads and stores, page by page (CONFIG_IDLE_PAGE_TRACKING)
//   damon       loads and stores, by regions that DAMON forms itself
//               (CONFIG_DAMON_VADDR, Linux 6.2 or later)
// They say that a page was touched, not how often, nor by which instruction.
// Sources: Documentation/admin-guide/mm/{soft-dirty,idle_page_tracking,pagemap,
// damon/usage}.rst.
//
// Thread safety: none. Ownership: what a tracker set up in the kernel it takes
// down when destroyed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tracer/maps.h"
#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

// A run of pages that were touched.
struct PageTouch {
  Address start = 0;
  Bytes bytes = 0;
  std::uint32_t times = 1;  // how often it was seen touched, if known
  bool operator==(const PageTouch&) const = default;
};

/// Adds a page: to the last run where that ends at it.
void append_page(Address page, std::vector<PageTouch>& touched);

class PageTracker {
 public:
  virtual ~PageTracker() = default;
  virtual std::string name() const = 0;
  /// What a touch is taken for: a store where the tracker sees only those,
  /// otherwise a load.
  virtual Access access() const = 0;
  /// Appends what was touched in `areas` since the last call; the first call
  /// only begins. Errors: kNotFound when the process has ended, kIo.
  virtual Status scan(std::span<const Area> areas,
                      std::vector<PageTouch>& touched) = 0;
};

// Where the kernel's files lie; a test's are elsewhere.
struct KernelFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

/// Opens a tracker by name, or, with an empty name, the first of idle, damon
/// and soft-dirty that this kernel has. Errors: kInvalid for an unknown name,
/// kNotFound and kPermission when the kernel lacks it or forbids it; the
/// message says the remedy.
Result<std::unique_ptr<PageTracker>> open_page_tracker(
    const std::string& name, int pid, const KernelFiles& files = {});

/// Errors: kInvalid for an unknown name; an empty one is known.
Status check_page_tracker(const std::string& name);

// One file each.
Result<std::unique_ptr<PageTracker>> open_soft_dirty(int pid,
                                                     const KernelFiles& files);
Result<std::unique_ptr<PageTracker>> open_idle_pages(int pid,
                                                     const KernelFiles& files);
Result<std::unique_ptr<PageTracker>> open_damon(int pid,
                                                const KernelFiles& files);

/// Whether this kernel marks the pages that are written: tries with one of
/// ours.
bool has_soft_dirty(const KernelFiles& files);
/// Whether DAMON can be had to watch processes: what open_damon() says of it,
/// all being taken down again. Errors: kNotFound, kPermission, kUnsupported
/// when another program uses it.
Status try_damon(const KernelFiles& files);

}  // namespace thermocline
