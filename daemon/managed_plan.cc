// What a Managed does about its plan.
#include "daemon/managed.h"
#include "daemon/plan_room.h"

namespace thermocline {

MoveTotals Managed::follow_plan(std::vector<Bytes>& room, BudgetShare budget,
                                MoveThread& moves) {
  if (in_flight()) return {};
  std::vector<MoveOrder> orders;
  auto totals = plan_->act(
      {*kernel_, *machine_, target_, guards_, budget, room, window_,
       moves.moves(), slowdown_.holding() ? Refusal::kSlowdown : pressure_},
      orders);
  if (!orders.empty()) send(std::move(orders), totals, true, budget, moves);
  totals_.moves.add(totals);
  return totals;
}

// To the guards, fast memory is overfull by what the plan lacks: they let these
// demotions pass as those of a target that has more than its part.
std::vector<Move> Managed::make_room_for_plan(TierView& fast) {
  const Bytes lacking = plan_->take_lacking();
  if (lacking == 0) return {};
  const auto tensors = plan_->living();
  std::vector<double> accesses(objects_.size());
  for (ObjectId id = 0; id < objects_.size(); ++id) {
    const auto one = recent(id);
    accesses[huge_.leader(id)] += one.loads + one.stores;
  }
  const auto planned = [&](ObjectId leader) {
    bool out = false;
    huge_.each(leader, [&](ObjectId id) {
      const Region& region = target_.region(id);
      const auto next = std::partition_point(
          tensors.begin(), tensors.end(),
          [&](const Region& one) { return one.end <= region.start; });
      out |= next != tensors.end() && next->start < region.end;
    });
    return out;
  };
  fast.capacity =
      std::min(fast.capacity, fast.used - std::min(fast.used, lacking));
  return make_room(objects_, accesses, lacking,
                   static_cast<TierId>(tiers_.size() - 1), planned);
}

}  // namespace thermocline
