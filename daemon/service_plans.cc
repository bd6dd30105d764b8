// What a Service does about plans.
#include <algorithm>

#include "daemon/service.h"

namespace thermocline {
namespace {

// The kernel is asked for free memory no more often; what is not there any
// more it refuses itself.
constexpr Nanos kRoomHolds = 20'000'000;

}  // namespace

// The plan has an instance of the policy for itself: the other decides online
// until the plan is there, and when it is dropped.
void Service::make_plan(Managed& managed) {
  if (!options_.plan) return;
  const auto policy = make_policy_(options_.policy, options_.policy_options);
  if (!policy) return;  // it was made a moment ago
  managed.set_plan(std::make_unique<Planned>(options_.plan));
  managed.plan()->make(**policy, room_for_plan(managed));
}

Room Service::room_for_plan(const Managed& managed) const {
  Room room;
  const auto known = memory();
  room.capacity = capacities(managed, known);
  for (TierId t = 0; t < known.size(); ++t) {
    if (!known[t]) room.capacity[t] = machine_.tiers[t].capacity;
  }
  // What is no tensor is born in the fastest tier, too, and not planned for.
  room.capacity[0] -= std::min(room.capacity[0], options_.plan->beside);
  room.copy_bytes_per_s =
      static_cast<double>(std::max<Bytes>(1, budget_.rate()));
  return room;
}

std::vector<Bytes> Service::room_for_moves() const {
  std::vector<Bytes> out;
  for (const auto& tier : memory()) {
    Bytes free = 0;
    if (tier) {
      const auto total = static_cast<double>(tier->total);
      const auto left = static_cast<Bytes>(total * options_.headroom);
      free = tier->free_with(options_.reclaim);
      free = free > left ? free - left : 0;
    } else {
      free = machine_.tiers[out.size()].capacity;  // a dry run
    }
    out.push_back(free);
  }
  return out;
}

void Service::follow_plans() {
  for (const auto& one : managed_) {
    if (one->plan() == nullptr) continue;
    for (const auto& line : one->plan()->news()) {
      notice("pid " + std::to_string(one->target().pid()) + ": " + line);
    }
    const auto due = one->plan()->next_due();
    if (rests() || one->in_flight()) continue;
    if (!due || *due > kernel_.now()) continue;
    if (room_.empty() || kernel_.now() - room_at_ >= kRoomHolds) {
      room_ = room_for_moves();
      room_at_ = kernel_.now();
    }
    other_moves_.add(one->follow_plan(room_, moves_budget(), *moves_thread_));
  }
  if (moves_descriptor() < 0) collect_moves();
}

std::optional<Nanos> Service::next_due() const {
  std::optional<Nanos> out;
  for (const auto& one : managed_) {
    if (one->plan() == nullptr || rests() || one->in_flight()) continue;
    const auto due = one->plan()->next_due();
    if (due && (!out || *due < *out)) out = due;
  }
  return out;
}

}  // namespace thermocline
