#include "daemon/target.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <utility>

#include "daemon/huge_pages.h"
#include "daemon/locked_memory.h"
#include "daemon/page_moves.h"

namespace thermocline {
namespace {

// A library's constants with addresses in them (RELRO): written by the loader,
// then sealed. They lie at the beginning of the library's writable segment.
bool relocated(const Area& area, const Area& next) {
  return area.permissions == "r--p" && area.inode != 0 &&
         next.inode == area.inode && next.start == area.end &&
         next.writable() && !next.shared();
}

// No look at one region takes more than a window may.
Bytes largest(const Target::Options& options, Bytes page_bytes) {
  return std::max(options.region_bytes,
                  std::bit_floor(options.pages_per_window * page_bytes));
}

}  // namespace

Target::Target(Kernel& kernel, const Machine& machine, Process process,
               Options options)
    : kernel_(&kernel),
      machine_(&machine),
      tiers_(machine.tiers.size()),
      process_(std::move(process)),
      options_(options),
      page_bytes_(kernel.page_bytes()),
      huge_bytes_(huge_page_bytes(kernel)),
      map_(options.region_bytes, largest(options, kernel.page_bytes()),
           options.regions),
      pages_in_(machine.tiers.size(), 0),
      slice_(options.pages_per_window) {}

Result<Target> Target::attach(Kernel& kernel, const Machine& machine, int pid,
                              Options options) {
  auto process = read_process(kernel, pid);
  if (!process) return process.error();
  const std::string name =
      "pid " + std::to_string(pid) + " (" + process->name + ")";
  if (process->kernel_thread) {
    return invalid(name + " is a kernel thread; it has no memory to place");
  }
  if (process->zombie) return not_found(name + " has ended");
  Target target(kernel, machine, *std::move(process), options);
  // The kernel asks for the same right here as for moving pages
  // (PTRACE_MODE_READ), and this address need not exist.
  const Address nowhere = kernel.page_bytes();
  if (const auto seen = page_nodes(kernel, pid, {&nowhere, 1}); !seen) {
    return seen.error();
  }
  if (auto status = target.refresh(); !status) return status.error();
  return target;
}

Status Target::refresh() {
  const auto process = read_process(*kernel_, process_.pid);
  const std::string name = "pid " + std::to_string(process_.pid);
  if (!process) return process.error();
  if (process->started != process_.started) {
    return not_found(name + " has ended, and now names another process");
  }
  if (process->zombie) return not_found(name + " has ended");
  process_.name = process->name;  // changes when the process calls exec
  glance();
  if (auto status = read_maps(); !status) return status;
  auto status = ask();
  swing_.end_window();
  ++window_;
  return status;
}

Status Target::read_maps() {
  const std::string directory = "proc/" + std::to_string(process_.pid);
  auto text = kernel_->read_file(directory + "/maps");
  if (!text) return text.error();
  const bool same = *text == maps_text_;
  const bool leaves = !options_.move_bound || !options_.move_locked;
  const bool look =
      leaves && options_.bound_every > 0 && window_ % options_.bound_every == 0;
  if (look) read_bound_areas();
  // What was taken for a reservation may be none.
  const bool grown = unmanaged_ > 0 && resident_ / 2 >= read_at_;
  if (same && !look && !grown) return {};
  read_at_ = resident_;
  maps_text_ = *std::move(text);
  auto maps = parse_maps(maps_text_);
  malformed_ += maps.malformed;
  areas_.clear();
  unmanaged_ = 0;
  for (std::size_t i = 0; i < maps.areas.size(); ++i) {
    const bool last = i + 1 == maps.areas.size();
    if (candidate(maps.areas[i], last ? nullptr : &maps.areas[i + 1])) {
      add_area(maps.areas[i]);
    }
  }
  notice_growth();
  forget_unmapped();
  return {};
}

void Target::glance() {
  // "size resident shared ...", in pages; files' pages count as shared.
  const auto text =
      kernel_->read_file("proc/" + std::to_string(process_.pid) + "/statm");
  if (!text) return;
  std::istringstream words(*text);
  Bytes size = 0;
  Bytes resident = 0;
  Bytes shared = 0;
  if (!(words >> size >> resident >> shared)) return;
  resident_ = (resident - std::min(resident, shared)) * page_bytes_;
  swing_.see(resident_);
}

void Target::read_bound_areas() {
  // A walk over all pages of the process: seldom, and never fatal.
  if (options_.move_bound) {
    bound_areas_.clear();
  } else if (const auto text = kernel_->read_file(
                 "proc/" + std::to_string(process_.pid) + "/numa_maps")) {
    bound_areas_ = parse_bound_areas(*text);
  }
  if (options_.move_locked) return;
  for (const auto start : locked_areas(*kernel_, process_.pid)) {
    bound_areas_.insert(start);
  }
}

bool Target::candidate(const Area& area, const Area* next) const {
  const Mapping mapping{0, area.start, area.end, area.permissions, area.name};
  if (!RegionMap::placeable(mapping)) return false;
  if (options_.move_shared) return true;
  if (area.shared()) return false;
  return area.writable() || (next != nullptr && relocated(area, *next));
}

// Some reserve terabytes and touch none of them (a sanitizer's shadow).
bool Target::is_reservation(const Area& area) const {
  constexpr Bytes kLeast = Bytes{64} << 20;
  constexpr Bytes kMost = 1024;  // times what the process has
  return area.bytes() / kMost > std::max(resident_, kLeast) &&
         area.bytes() / map_.region_bytes() >= map_.left();
}

void Target::add_area(const Area& area) {
  if (is_reservation(area) ||
      !map_.add({0, area.start, area.end, area.permissions, area.name})) {
    unmanaged_ += area.bytes();
    return;
  }
  areas_.push_back(area);
}

void Target::notice_growth() {
  seen_.resize(map_.size());
  pages_.resize(seen_.size() * tiers_);
  for (ObjectId id = 0; id < seen_.size(); ++id) {
    const auto& region = map_.region(id);
    auto& seen = seen_[id];
    // A large one waits for its turn, or for a sample: there may be thousands
    // that nobody has ever touched.
    const bool changed = seen.start != region.start || seen.end != region.end;
    if (changed && region.bytes() <= map_.region_bytes()) want(id);
    know(id);
    seen.bound = false;
  }
  for (const auto& area : areas_) {
    if (!bound_areas_.contains(area.start)) continue;
    map_.each(area.start, area.end,
              [&](ObjectId id) { seen_[id].bound = true; });
  }
}

// Memory that was given back is gone at once, not when its turn comes.
void Target::forget_unmapped() {
  std::vector<bool> mapped(seen_.size(), false);
  for (const auto& area : areas_) {
    map_.each(area.start, area.end, [&](ObjectId id) { mapped[id] = true; });
  }
  for (ObjectId id = 0; id < seen_.size(); ++id) {
    if (mapped[id]) continue;
    see_huge(id, false);
    for (TierId t = 0; t < tiers_; ++t) set_pages(id, t, 0);
  }
}

void Target::know(ObjectId id) {
  seen_[id].start = map_.region(id).start;
  seen_[id].end = map_.region(id).end;
}

void Target::want(ObjectId id) {
  if (id >= seen_.size() || seen_[id].queued) return;
  seen_[id].queued = true;
  queue_.push_back(id);
}

// As many as a region of the grid has, if it is clipped: so a window asks about
// as many regions, whatever they are.
std::uint64_t Target::pages_to_ask(ObjectId id) const {
  const Bytes bytes = std::max(map_.region_bytes(), map_.region(id).bytes());
  return std::max<std::uint64_t>(1, bytes / page_bytes_);
}

Status Target::ask() {
  std::uint64_t left = options_.pages_per_window;
  std::vector<ObjectId> ids;
  const auto take = [&](ObjectId id) {
    const auto pages = std::min(pages_to_ask(id), left);
    left -= pages;
    ids.push_back(id);
    return pages;
  };
  while (!queue_.empty() &&
         (ids.empty() || pages_to_ask(queue_.front()) <= left)) {
    seen_[queue_.front()].queued = false;
    take(queue_.front());
    queue_.pop_front();
  }
  auto slice = std::min(slice_, left);
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t next = rolling_ + 1 < size() ? rolling_ + 1 : 0;
    const auto id = static_cast<ObjectId>(next);
    // At least one, however small the slice.
    if (i > 0 && pages_to_ask(id) > slice) break;
    if (i == 0 && pages_to_ask(id) > left && !ids.empty()) break;
    rolling_ = next;
    if (seen_[next].queued || map_.region(id).bytes() == 0) continue;
    slice -= std::min(slice, take(id));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto changed = ask_about(ids);
  if (!changed) return changed.error();
  settle(*changed);
  return {};
}

// Until the kernel is asked, the pages of a split region lie as even as can be;
// of merged ones, which but for the first are empty, the first has all.
void Target::share_out(std::span<const ObjectId> parts) {
  Bytes bytes = 0;
  for (const ObjectId id : parts) bytes += map_.region(id).bytes();
  for (TierId t = 0; t < tiers_; ++t) {
    std::uint64_t pages = 0;
    for (const ObjectId id : parts) pages += pages_[id * tiers_ + t];
    for (const ObjectId id : parts) {
      const auto share = pages * map_.region(id).bytes() / bytes;
      set_pages(id, t, static_cast<std::uint32_t>(share));
    }
  }
}

std::vector<std::vector<ObjectId>> Target::adapt(
    std::span<const double> samples) {
  std::vector<std::vector<ObjectId>> out;
  heat_.end_window(map_, samples);
  for (const auto& group : heat_.to_merge(map_)) {
    const bool bound = seen_[group.front()].bound;
    const bool alike = std::ranges::all_of(
        group, [&](ObjectId id) { return seen_[id].bound == bound; });
    if (!alike) continue;
    map_.merge(group);
    heat_.merged(group);
    share_out(group);
    for (const ObjectId id : group) {
      know(id);
      see_huge(id, false);
    }
    out.push_back(group);
  }
  for (const ObjectId whole : heat_.to_split(map_)) {
    const auto parts = map_.split(whole);
    if (parts.empty()) break;  // no regions are left
    seen_.resize(map_.size());
    pages_.resize(seen_.size() * tiers_);
    heat_.split(parts);
    share_out(parts);
    for (const ObjectId id : parts) {
      know(id);
      see_huge(id, false);
      seen_[id].bound = seen_[whole].bound;
      want(id);
    }
    out.push_back(parts);
  }
  return out;
}

void Target::settle(bool changed) {
  const Bytes grown =
      std::max(resident_, settled_at_) - std::min(resident_, settled_at_);
  settled_at_ = resident_;
  if (changed || grown >= map_.region_bytes()) {
    slice_ = options_.pages_per_window;
  } else if (slice_ > options_.pages_when_steady) {
    slice_ = std::max(slice_ / 2, options_.pages_when_steady);
  }
}

Result<bool> Target::ask_about(std::span<const ObjectId> ids) {
  std::vector<Address> pages;
  std::vector<std::size_t> ends;
  for (const auto id : ids) {
    for_each_page(id, [&](Address page) { pages.push_back(page); });
    ends.push_back(pages.size());
  }
  const auto nodes = page_nodes(*kernel_, process_.pid, pages);
  if (!nodes) return nodes.error();
  bool changed = false;
  HugePages huge(*kernel_, process_.pid);
  std::size_t page = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<std::uint32_t> counts(tiers_, 0);
    bool first = true;
    for (; page < ends[i]; ++page) {
      if ((*nodes)[page] < 0) continue;
      if (std::exchange(first, false)) {
        const bool in_huge = huge.block_of(pages[page]) != 0;
        if (huge.bytes() > 0) see_huge(ids[i], in_huge);
      }
      const TierId tier = machine_->tier_of_node((*nodes)[page]);
      if (tier != kNoTier) ++counts[tier];
    }
    for (std::size_t t = 0; t < tiers_; ++t) {
      changed |= set_pages(ids[i], static_cast<TierId>(t), counts[t]);
    }
  }
  return changed;
}

void Target::see_huge(ObjectId id, bool huge) {
  huge_regions_ += huge ? 1 : 0;
  huge_regions_ -= std::exchange(seen_[id].huge, huge) ? 1 : 0;
}

template <typename Each>
void Target::for_each_page(ObjectId id, Each each) const {
  const auto& region = map_.region(id);
  auto area = std::upper_bound(
      areas_.begin(), areas_.end(), region.start,
      [](Address at, const Area& other) { return at < other.end; });
  for (; area != areas_.end() && area->start < region.end; ++area) {
    const Address end = std::min(area->end, region.end);
    for (auto at = std::max(area->start, region.start); at < end;
         at += page_bytes_) {
      each(at);
    }
  }
}

std::vector<Address> Target::pages(ObjectId id) const {
  std::vector<Address> out;
  for_each_page(id, [&](Address page) { out.push_back(page); });
  return out;
}

bool Target::set_pages(ObjectId id, TierId tier, std::uint32_t pages) {
  auto& now = pages_[id * tiers_ + tier];
  pages_in_[tier] += pages;
  pages_in_[tier] -= now;
  return std::exchange(now, pages) != pages;
}

Bytes Target::footprint() const {
  Bytes sum = 0;
  for (TierId t = 0; t < tiers_; ++t) sum += footprint(t);
  return sum;
}

void Target::note(const MoveOutcome& outcome) {
  if (outcome.pages_by_tier.empty()) return;
  for (TierId t = 0; t < tiers_; ++t) {
    set_pages(outcome.object, t,
              static_cast<std::uint32_t>(outcome.pages_by_tier[t]));
  }
  if (outcome.moved > 0) see_huge(outcome.object, outcome.huge);
  if (!outcome.huge || huge_bytes_ == 0) return;
  // Neighbours within the huge page moved too.
  const auto& region = map_.region(outcome.object);
  const Bytes tail = huge_bytes_ - 1;
  map_.each(region.start & ~tail, (region.end + tail) & ~tail,
            [&](ObjectId id) {
              see_huge(id, true);
              want(id);
            });
}

}  // namespace thermocline
