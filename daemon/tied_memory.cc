#include "daemon/tied_memory.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "daemon/locked_memory.h"

namespace thermocline {
namespace {

constexpr Nanos kShare = 200;  // a look waits as many times what the last took

}  // namespace

TiedMemory::TiedMemory(Kernel& kernel, Options options)
    : kernel_(&kernel),
      options_(options),
      next_look_(std::numeric_limits<Nanos>::min()) {
  options_.aside = options_.aside && kernel.any_thread();
}

bool TiedMemory::is_new(const Area& area) const {
  const auto at = looked_.find(area.start);
  return at == looked_.end() || area.end < at->second.end;
}

bool TiedMemory::any_gone(std::span<const Area> mapped) const {
  return std::ranges::any_of(looked_, [&](const auto& one) {
    if (one.second.tie == Tie::kNone) return false;
    const auto at = std::ranges::lower_bound(
        mapped, one.first, {}, [](const Area& a) { return a.start; });
    return at == mapped.end() || at->start != one.first ||
           at->end < one.second.end;
  });
}

bool TiedMemory::part_of_tied(const Area& area) const {
  const auto after = looked_.upper_bound(area.start);
  if (after == looked_.begin()) return false;
  const Looked& before = std::prev(after)->second;
  return before.tie != Tie::kNone && area.start < before.end;
}

// What is mapped now, with what was at the last look. One that could not be
// read is tried again.
void TiedMemory::compare(std::span<const Area> mapped) {
  any_new_ = !trouble_.empty() ||
             std::ranges::any_of(
                 mapped, [&](const Area& area) { return is_new(area); });
  tied_gone_ = any_gone(mapped);
}

bool TiedMemory::see(int pid, std::span<const Area> mapped, bool changed) {
  if (options_.aside && !std::exchange(ever_seen_, true)) return true;
  const std::string directory = "proc/" + std::to_string(pid);
  const auto locked =
      options_.move_locked ? 0 : locked_kib(*kernel_, directory);
  bool news = std::exchange(locked_now_, locked) != locked;
  if (arrived(0)) {
    take_over(look_.get());
    news = true;
  }
  if (changed || news) compare(mapped);
  if (look_.valid() || !due()) return changed || news;
  begin(directory, mapped);
  if (!arrived(options_.patience)) return changed || news;
  take_over(look_.get());
  compare(mapped);
  return true;
}

bool TiedMemory::due() {
  const bool due =
      any_new_ || ++windows_ >= options_.every || locked_now_ != locked_;
  return due && kernel_->now() >= next_look_;
}

void TiedMemory::begin(const std::string& directory,
                       std::span<const Area> mapped) {
  Taken begun{{}, {}, locked_now_};
  for (const auto& area : mapped) begun.areas[area.start].end = area.end;
  const auto look = [kernel = kernel_, directory,
                     of = TieLook::Of{!options_.move_bound, locked_now_ > 0},
                     taken = std::move(begun)]() mutable {
    taken.look = look_at_ties(*kernel, directory, of);
    for (const auto& [start, tie] : taken.look.tied) {
      const auto at = taken.areas.find(start);
      if (at != taken.areas.end()) at->second.tie = tie;
    }
    return std::move(taken);
  };
  if (options_.aside) {
    try {
      look_ = std::async(std::launch::async, look);
      return;
    } catch (const std::system_error&) {  // no more threads: then not aside
    }
  }
  look_ = std::async(std::launch::deferred, look);
}

// One that is not taken aside is taken when it is asked for.
bool TiedMemory::arrived(Nanos patience) const {
  if (!look_.valid()) return false;
  return look_.wait_for(std::chrono::nanoseconds(patience)) !=
         std::future_status::timeout;
}

void TiedMemory::take_over(Taken taken) {
  looked_ = std::move(taken.areas);
  locked_ = taken.locked;
  ever_looked_ = true;
  ever_bound_ =
      ever_bound_ || std::ranges::any_of(taken.look.tied, [](const auto& one) {
        return one.second == Tie::kBound || one.second == Tie::kReserved;
      });
  trouble_ = std::move(taken.look.trouble);
  windows_ = 0;
  next_look_ = kernel_->now() + kShare * taken.look.took;
}

Tie TiedMemory::tie(const Area& area) const {
  if (!trouble_.empty()) return Tie::kUnreadable;
  if (!ever_looked_) return Tie::kNew;
  if (!is_new(area)) return looked_.at(area.start).tie;
  const bool doubtful =
      ever_bound_ || tied_gone_ || locked_now_ > locked_ || part_of_tied(area);
  return doubtful ? Tie::kNew : Tie::kNone;
}

}  // namespace thermocline
