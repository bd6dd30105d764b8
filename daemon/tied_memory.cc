#include "daemon/tied_memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "daemon/locked_memory.h"

namespace thermocline {
namespace {

constexpr Nanos kShare = 200;  // a look waits as many times what the last took

}  // namespace

TiedMemory::TiedMemory(Kernel& kernel, Options options)
    : kernel_(&kernel),
      options_(options),
      next_look_(std::numeric_limits<Nanos>::min()) {}

bool TiedMemory::is_new(const Area& area) const {
  const auto at = looked_.find(area.start);
  return at == looked_.end() || area.end < at->second.end;
}

bool TiedMemory::see(int pid, std::span<const Area> mapped, bool changed) {
  const std::string directory = "proc/" + std::to_string(pid);
  if (changed) {
    any_new_ = std::ranges::any_of(
        mapped, [&](const Area& area) { return is_new(area); });
  }
  const auto locked =
      options_.move_locked ? 0 : locked_kib(*kernel_, directory);
  const bool due =
      any_new_ || ++windows_ >= options_.every || locked != locked_;
  if (!due || kernel_->now() < next_look_) return changed;
  locked_ = locked;
  look(directory, mapped);
  return true;
}

void TiedMemory::look(const std::string& directory,
                      std::span<const Area> mapped) {
  const Nanos began = kernel_->now();
  std::set<Address> tied;
  trouble_.clear();
  const auto fails = [&](const Error& error, const char* setting) {
    trouble_ = "which memory its job tied down cannot be told, so nothing of " +
               directory + " is moved: " + error.message + "; with \"" +
               setting + "\": true it is not asked";
  };
  const auto text = kernel_->read_file(directory + "/numa_maps");
  if (text) {
    auto maps = parse_numa_maps(*text);
    tied = std::move(maps.hugetlb);
    if (!options_.move_bound) tied.merge(maps.bound);
  } else if (text.error().code != Error::Code::kNotFound &&
             !options_.move_bound) {
    fails(text.error(), "move_bound");
  }
  if (locked_ > 0) {
    const auto locked = locked_areas(*kernel_, directory);
    if (!locked) fails(locked.error(), "move_locked");
    if (locked) tied.insert(locked->begin(), locked->end());
  }
  looked_.clear();
  for (const auto& area : mapped) {
    looked_[area.start] = {area.end, tied.contains(area.start)};
  }
  ever_tied_ = ever_tied_ || !tied.empty();
  any_new_ = !trouble_.empty();  // then it is tried again
  windows_ = 0;
  const Nanos now = kernel_->now();
  next_look_ = now + kShare * (now - began);
}

bool TiedMemory::holds(const Area& area) const {
  if (!trouble_.empty()) return true;
  if (is_new(area)) return ever_tied_;
  return looked_.at(area.start).tied;
}

}  // namespace thermocline
