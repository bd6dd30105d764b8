#include "tracer/arenas.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace thermocline {
namespace {

// Of all runs together: an eighth of what x86-64 gives a process.
constexpr Bytes kMostAddresses = Bytes{16} << 40;
constexpr Bytes kLeastRun = 64 << 20;

Bytes round_up(Bytes value, Bytes align) {
  return (value + align - 1) & ~(align - 1);
}

Bytes ram() {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page = sysconf(_SC_PAGESIZE);
  return static_cast<Bytes>(pages) * static_cast<Bytes>(page);
}

}  // namespace

Arenas::Arenas(const Options& options)
    : options_(options), page_(static_cast<Bytes>(sysconf(_SC_PAGESIZE))) {}

Result<std::unique_ptr<Arenas>> Arenas::make(Options options) {
  if (options.classes == 0 || options.classes > 256) {
    return invalid("arenas are for 1 to 256 classes");
  }
  if (!(options.overhead >= 1)) {
    return invalid("no less can be reserved than is live: overhead is " +
                   std::to_string(options.overhead) + ", at least 1");
  }
  std::unique_ptr<Arenas> made(new Arenas(options));
  if (auto status = made->reserve(); !status) return status.error();
  return made;
}

// Where a process may not have as many addresses as wanted (ulimit -v), fewer
// will do.
Status Arenas::reserve() {
  const auto count = 2 * options_.classes;
  Bytes each = options_.reserve_bytes != 0 ? options_.reserve_bytes
                                           : std::max(ram(), kLeastRun);
  each = round_up(std::min(each, kMostAddresses / count), kHugePage);
  for (;; each = round_up(each / 2, kHugePage)) {
    const Bytes bytes = each * count + kHugePage;
    void* const got = mmap(nullptr, bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got != MAP_FAILED) {
      mapping_ = reinterpret_cast<Address>(got);
      mapped_ = bytes;
      break;
    }
    if (each <= kLeastRun) {
      return unsupported("cannot reserve " + std::to_string(bytes) +
                         " addresses: " + std::strerror(errno) +
                         "; see ulimit -v");
    }
  }
  base_ = round_up(mapping_, kHugePage);
  run_bytes_ = each;
  for (std::size_t i = 0; i < count; ++i) {
    runs_.emplace_back(base_ + i * each, i % 2 == 0 ? kAlign : page_);
  }
  return {};
}

Arenas::~Arenas() {
  if (mapped_ != 0) munmap(reinterpret_cast<void*>(mapping_), mapped_);
}

void* Arenas::take(std::size_t of_class, Bytes bytes) {
  CHECK(bytes > 0 && 2 * of_class < runs_.size());
  const bool large = bytes >= options_.large_bytes;
  const Bytes align = !large                                      ? kAlign
                      : options_.huge_pages && bytes >= kHugePage ? kHugePage
                                                                  : page_;
  const std::lock_guard lock(mutex_);
  auto& run = runs_[2 * of_class + (large ? 1 : 0)];
  Address at = 0;
  const auto look = [&] {
    const Bytes others = dirty_ - run.heap.dirty();
    at = run.heap.take(bytes, align);
    dirty_ = others + run.heap.dirty();
  };
  if (bytes <= run_bytes_) {
    look();
    if (at == 0 && grow(run, bytes + align)) look();
  }
  if (at == 0) {
    ++sums_.refused;
    return nullptr;
  }
  live_ += round_up(bytes, large ? page_ : kAlign);
  ++sums_.taken;
  note_peaks();
  return reinterpret_cast<void*>(at);
}

void Arenas::give_back(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<Address>(memory);
  auto& run = runs_[(at - base_) / run_bytes_];
  const Bytes bytes = run.heap.give_back(at);
  live_ -= bytes;
  dirty_ += bytes;
  // To half: so that the next one does not come here again.
  if (dirty_ > options_.keep_bytes) clean(options_.keep_bytes / 2);
}

std::size_t Arenas::class_of(const void* memory) const {
  CHECK(owns(memory));
  return (reinterpret_cast<Address>(memory) - base_) / run_bytes_ / 2;
}

// Makes more of the run usable, for `bytes` at its end.
bool Arenas::grow(Run& run, Bytes bytes) {
  const Bytes step = options_.huge_pages ? kHugePage : 64 * page_;
  const Bytes more =
      round_up(bytes - std::min(bytes, run.heap.free_at_end()), step);
  if (more > run.start + run_bytes_ - run.top) return false;
  const auto allowed = static_cast<Bytes>(options_.overhead *
                                          static_cast<double>(live_ + bytes));
  if (live_ + dirty_ + bytes > allowed + options_.keep_bytes) {
    clean(0);
    if (live_ + dirty_ + bytes > allowed + options_.keep_bytes) return false;
  }
  void* const at = reinterpret_cast<void*>(run.top);
  if (more > 0 && mprotect(at, more, PROT_READ | PROT_WRITE) != 0) return false;
  if (more > 0 && options_.huge_pages) madvise(at, more, MADV_HUGEPAGE);
  if (more > 0) run.heap.add(run.top, more);
  run.top += more;
  return true;
}

// Gives free pages back until at most `keep` free bytes have any.
void Arenas::clean(Bytes keep) {
  const Bytes page = options_.huge_pages ? kHugePage : page_;
  for (auto& run : runs_) {
    if (dirty_ <= keep) return;
    const Bytes before = run.heap.dirty();
    const Bytes others = dirty_ - before;
    run.heap.clean(keep - std::min(keep, others), page,
                   [this](Address at, Bytes bytes) {
                     auto* const memory = reinterpret_cast<void*>(at);
                     // Locked memory (mlockall) cannot be given back.
                     if (madvise(memory, bytes, MADV_DONTNEED) == 0) {
                       sums_.returned += bytes;
                     }
                   });
    dirty_ = others + run.heap.dirty();
  }
}

void Arenas::note_peaks() {
  sums_.peak_live = std::max(sums_.peak_live, live_);
  sums_.peak_reserved = std::max(sums_.peak_reserved, live_ + dirty_);
}

Arenas::Totals Arenas::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = sums_;
  totals.live = live_;
  totals.reserved = live_ + dirty_;
  for (const auto& run : runs_) {
    const auto pages = run.heap.pages(page_);
    totals.pages += pages.touched;
    totals.least_pages += pages.least;
    totals.blocks += run.heap.extents();
  }
  return totals;
}

}  // namespace thermocline
