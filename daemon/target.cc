#include "daemon/target.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <utility>

#include "daemon/huge_pages.h"
#include "daemon/page_nodes.h"

namespace thermocline {
namespace {

// A library's constants with addresses in them (RELRO): written by the loader,
// then sealed. They lie at the beginning of the library's writable segment.
bool relocated(const Area& area, const Area* next) {
  return next != nullptr && area.permissions == "r--p" && area.inode != 0 &&
         next->inode == area.inode && next->start == area.end &&
         next->writable() && !next->shared();
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
      memory_id_(process_.pid),
      options_(options),
      page_bytes_(kernel.page_bytes()),
      huge_bytes_(huge_page_bytes(kernel)),
      map_(options.region_bytes, largest(options, kernel.page_bytes()),
           options.regions),
      tied_(kernel, options.tied),
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
  const auto id = thread_with_memory(kernel, *process);
  if (!id) return id.error();
  Target target(kernel, machine, *std::move(process), options);
  // The kernel asks for the same right here as for moving pages
  // (PTRACE_MODE_READ), and this address need not exist.
  const Address nowhere = kernel.page_bytes();
  if (const auto seen = page_nodes(kernel, *id, {&nowhere, 1}); !seen) {
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
  const auto id = thread_with_memory(*kernel_, *process);
  if (!id) return id.error();
  memory_id_ = *id;
  glance();
  if (auto status = read_maps(); !status) return status;
  auto status = ask();
  // Once more: what was born while pages were asked for is known, and would be
  // taken for a swing when the window before is forgotten.
  glance();
  swing_.know(footprint());
  swing_.end_window();
  ++window_;
  return status;
}

Status Target::read_maps() {
  const auto file = "proc/" + std::to_string(memory_id_) + "/maps";
  if (auto read = kernel_->reread_file(file, maps_now_); !read) return read;
  // What was taken for a reservation may be none.
  const bool grown = unmanaged_ > 0 && resident_ / 2 >= read_at_;
  const bool changed = maps_now_ != maps_text_ || grown;
  if (changed) take_over_maps();
  if (tied_.see(memory_id_, areas_, changed)) mark_tied();
  return {};
}

void Target::take_over_maps() {
  read_at_ = resident_;
  std::swap(maps_text_, maps_now_);
  auto maps = parse_maps(maps_text_);
  malformed_ += maps.malformed;
  areas_.clear();
  unmanaged_ = 0;
  for (std::size_t i = 0; i < maps.areas.size(); ++i) {
    const bool last = i + 1 == maps.areas.size();
    if (candidate(maps.areas[i], last ? nullptr : &maps.areas[i + 1])) {
      add_area(std::move(maps.areas[i]));
    }
  }
  notice_growth();
  notice_mapped();
}

void Target::glance() {
  // "size resident shared ...", in pages; files' pages count as shared.
  const auto text =
      kernel_->read_file("proc/" + std::to_string(memory_id_) + "/statm");
  if (!text) return;
  std::istringstream words(*text);
  Bytes size = 0;
  Bytes resident = 0;
  Bytes shared = 0;
  if (!(words >> size >> resident >> shared)) return;
  resident_ = (resident - std::min(resident, shared)) * page_bytes_;
  swing_.see(resident_);
}

bool Target::candidate(const Area& area, const Area* next) const {
  const bool own = !area.shared() && (area.writable() || relocated(area, next));
  return (own || options_.move_shared) &&
         RegionMap::placeable(
             {0, area.start, area.end, area.permissions, area.name});
}

// Some reserve terabytes and touch none of them (a sanitizer's shadow).
bool Target::is_reservation(const Area& area) const {
  constexpr Bytes kLeast = Bytes{64} << 20;
  constexpr Bytes kMost = 1024;  // times what the process has
  return area.bytes() / kMost > std::max(resident_, kLeast) &&
         area.bytes() / map_.region_bytes() >= map_.left();
}

void Target::add_area(Area area) {
  if (is_reservation(area) ||
      !map_.add({0, area.start, area.end, area.permissions, area.name})) {
    unmanaged_ += area.bytes();
    return;
  }
  areas_.push_back(std::move(area));
}

void Target::notice_growth() {
  seen_.resize(map_.size());
  pages_.resize(seen_.size() * tiers_);
  for (ObjectId id = 0; id < seen_.size(); ++id) {
    const auto& region = map_.region(id);
    auto& seen = seen_[id];
    if (seen.start != region.start || seen.end != region.end) ask_soon(id);
    know(id);
  }
}

void Target::mark_tied() {
  for (auto& seen : seen_) seen.tie = Tie::kNone;
  for (const auto& area : areas_) {
    const Tie tie = tied_.tie(area);
    if (tie == Tie::kNone) continue;
    map_.each(area.start, area.end, [&](ObjectId id) { seen_[id].tie = tie; });
  }
}

// Memory that was given back is gone at once, not when its turn comes; and what
// is mapped where other memory was is as new as any.
void Target::notice_mapped() {
  std::vector<bool> mapped(seen_.size(), false);
  for (const auto& area : areas_) {
    map_.each(area.start, area.end, [&](ObjectId id) { mapped[id] = true; });
  }
  for (ObjectId id = 0; id < seen_.size(); ++id) {
    const bool was = std::exchange(seen_[id].mapped, mapped[id]);
    if (mapped[id] && !was) ask_soon(id);
    if (mapped[id]) continue;
    see_huge(id, false);
    for (TierId t = 0; t < tiers_; ++t) set_pages(id, t, 0);
  }
}

void Target::know(ObjectId id) {
  seen_[id].start = map_.region(id).start;
  seen_[id].end = map_.region(id).end;
  seen_[id].looked = -1;
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
    const Tie tie = seen_[group.front()].tie;
    const bool alike = std::ranges::all_of(
        group, [&](ObjectId id) { return seen_[id].tie == tie; });
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
      seen_[id].tie = seen_[whole].tie;
      want(id);
    }
    out.push_back(parts);
  }
  return out;
}

}  // namespace thermocline
