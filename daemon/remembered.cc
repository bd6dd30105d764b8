// What Guards, Managed and Service remember over a restart.
#include <algorithm>

#include "daemon/service.h"

namespace thermocline {
namespace {

constexpr std::size_t kMostHistory = 256;

}  // namespace

RegionMemory Managed::memory(ObjectId id) const {
  const auto& region = target_.region(id);
  return {region.start,
          region.end,
          static_cast<float>(last_loads(id)),
          static_cast<float>(last_stores(id)),
          static_cast<float>(heat(id)),
          target_.tier(id),
          guards_.memory(id, window_)};
}

std::size_t Managed::recall(const TargetMemory& memory) {
  window_ = std::max(window_, memory.window);
  blacklist_.recall(memory.blacklist, window_);
  slowdown_.recall(memory.slowdown);
  thrash_.recall(memory.thrash);
  loads_.resize(target_.size());
  stores_.resize(target_.size());
  std::size_t known = 0;
  for (const auto& one : memory.regions) {
    const auto id = target_.find(one.start);
    if (!id) continue;
    ++known;
    loads_[*id] += static_cast<double>(one.loads);
    stores_[*id] += static_cast<double>(one.stores);
    guards_.recall(*id, one.guards, window_);
  }
  return known;
}

std::size_t Service::recall(int pid, const TargetMemory& memory) {
  Managed* const managed = find(pid);
  CHECK(managed != nullptr);
  return managed->recall(memory);
}

void Service::record(std::string line) {
  if (history_.size() == kMostHistory) history_.pop_front();
  history_.push_back(std::move(line));
}

}  // namespace thermocline
