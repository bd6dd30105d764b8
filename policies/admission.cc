#include "policies/admission.h"

#include "policies/tier_use.h"

namespace thermocline {

const char* illegal_name(Illegal why) {
  switch (why) {
    case Illegal::kNo: return "none";
    case Illegal::kUnknownObject: return "unknown_object";
    case Illegal::kWrongTier: return "wrong_tier";
    case Illegal::kStale: return "stale";
    case Illegal::kUnmovable: return "unmovable";
    case Illegal::kTwice: return "twice";
    case Illegal::kOverfills: return "overfills";
    case Illegal::kOverBudget: return "over_budget";
  }
  return "unknown";
}

Admission::Admission(const View& view)
    : view_(view),
      budget_(view.budget),
      used_(tier_use(view)),
      moved_(view.objects.size(), false) {}

Illegal Admission::judge(const Move& move) const {
  if (move.object >= view_.objects.size()) return Illegal::kUnknownObject;
  const ObjectView& object = view_.objects[move.object];
  if (object.tier >= used_.size() || move.from != object.tier) {
    return Illegal::kStale;
  }
  if (move.to >= used_.size() || move.to == move.from) {
    return Illegal::kWrongTier;
  }
  if (!object.movable || object.bytes == 0) return Illegal::kUnmovable;
  if (moved_[move.object]) return Illegal::kTwice;
  const Bytes capacity = view_.tiers[move.to].capacity;
  const bool slowest = move.to + std::size_t{1} == used_.size();
  const bool fits =
      used_[move.to] <= capacity && object.bytes <= capacity - used_[move.to];
  if (!slowest && !fits) return Illegal::kOverfills;
  return object.bytes <= budget_ ? Illegal::kNo : Illegal::kOverBudget;
}

Illegal Admission::offer(const Move& move) {
  const Illegal why = judge(move);
  if (why != Illegal::kNo) return why;
  const Bytes bytes = view_.objects[move.object].bytes;
  used_[move.from] -= bytes;
  used_[move.to] += bytes;
  budget_ -= bytes;
  moved_[move.object] = true;
  return why;
}

}  // namespace thermocline
