// What is remembered: accesses of late, and what outlives the daemon.
#include <algorithm>

#include "daemon/service.h"

namespace thermocline {
namespace {

constexpr std::size_t kMostHistory = 256;

}  // namespace

double Managed::last_loads(ObjectId id) const {
  return id < last_loads_.size() ? last_loads_[id] : 0;
}

double Managed::last_stores(ObjectId id) const {
  return id < last_stores_.size() ? last_stores_[id] : 0;
}

Expected::Accesses Managed::recent(ObjectId id) const {
  if (id >= recent_.size()) return {};
  const Recent& one = recent_[id];
  return {static_cast<double>(one.loads), static_cast<double>(one.stores)};
}

// What is new is as it was in its first window.
void Managed::remember_accesses() {
  constexpr float kNew = 0.3F;
  const auto known = recent_.size();
  recent_.resize(target_.size());
  for (ObjectId id = 0; id < recent_.size(); ++id) {
    const float part = id < known ? kNew : 1;
    const auto blend = [part](float& value, double fresh) {
      value += part * (static_cast<float>(fresh) - value);
    };
    blend(recent_[id].loads, last_loads(id));
    blend(recent_[id].stores, last_stores(id));
  }
}

RegionMemory Managed::memory(ObjectId id) const {
  const auto& region = target_.region(id);
  const Recent accesses = id < recent_.size() ? recent_[id] : Recent{};
  return {region.start,
          region.end,
          accesses.loads,
          accesses.stores,
          static_cast<float>(heat(id)),
          target_.tier(id),
          guards_.memory(id, window_)};
}

Recalled Managed::recall(const TargetMemory& memory) {
  window_ = std::max(window_, memory.window);
  blacklist_.recall(memory.blacklist, window_);
  slowdown_.recall(memory.slowdown);
  thrash_.recall(memory.thrash);
  loads_.resize(target_.size());
  stores_.resize(target_.size());
  Recalled out;
  if (!memory.learned.empty()) out.learned = policy_->recall(memory.learned);
  for (const auto& one : memory.regions) {
    const auto id = target_.find(one.start);
    if (!id) continue;
    ++out.regions;
    loads_[*id] += static_cast<double>(one.loads);
    stores_[*id] += static_cast<double>(one.stores);
    guards_.recall(*id, one.guards, window_);
  }
  return out;
}

Recalled Service::recall(int pid, const TargetMemory& memory) {
  Managed* const managed = find(pid);
  CHECK(managed != nullptr);
  return managed->recall(memory);
}

void Service::record(std::string line) {
  if (history_.size() == kMostHistory) history_.pop_front();
  history_.push_back(std::move(line));
}

}  // namespace thermocline
