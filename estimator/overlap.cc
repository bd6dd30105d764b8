#include "estimator/overlap.h"

#include <algorithm>
#include <string>

#include "estimator/copy_engine.h"

namespace thermocline {
namespace {

Status check(const OperatorModel& model, const std::vector<TierId>& placement,
             std::span<const Copy> copies) {
  if (placement.size() != model.tensors() ||
      std::any_of(placement.begin(), placement.end(),
                  [&](TierId tier) { return tier >= model.tiers(); })) {
    return invalid("the placement does not give each of " +
                   std::to_string(model.tensors()) + " tensors one of " +
                   std::to_string(model.tiers()) + " tiers");
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Copy& copy = copies[i];
    const std::string name = "copy " + std::to_string(i);
    if (copy.tensor >= model.tensors() || copy.to >= model.tiers()) {
      return invalid(name + " is of tensor " + std::to_string(copy.tensor) +
                     " to tier " + std::to_string(copy.to) +
                     "; there is no such tensor or tier");
    }
    if (copy.needed < copy.start || copy.needed > model.operators()) {
      return invalid(name + " starts with operator " +
                     std::to_string(copy.start) + " and is needed by " +
                     std::to_string(copy.needed) + " of " +
                     std::to_string(model.operators()));
    }
    if (i > 0 && (copy.start < copies[i - 1].start ||
                  copy.needed < copies[i - 1].needed)) {
      return invalid(name + " starts or is needed before the one before it");
    }
  }
  return {};
}

}  // namespace

Result<Overlapped> overlapped(const OperatorModel& model,
                              std::vector<TierId> placement,
                              std::span<const Copy> copies) {
  if (auto ok = check(model, placement, copies); !ok) return ok.error();
  // A tensor's source is where it lies once the copies before have taken
  // effect.
  std::vector<TierId> from = placement;
  CopyEngine engine(model);
  std::size_t at = 0;  // the copy under way, or the next
  bool begun = false;
  Overlapped out;
  const auto begin = [&] {
    const Copy& copy = copies[at];
    engine.begin(copy.tensor, from[copy.tensor], copy.to);
    if (from[copy.tensor] != copy.to) out.copied += model.bytes(copy.tensor);
    begun = true;
  };
  const auto finished = [&] {
    from[copies[at].tensor] = copies[at].to;
    ++at;
    begun = false;
  };
  std::size_t placed = 0;
  double operators_ns = 0;
  for (std::size_t i = 0; i <= model.operators(); ++i) {
    for (; placed < copies.size() && copies[placed].needed == i; ++placed) {
      if (at <= placed) {
        if (!begun) begin();
        out.waited_ns += engine.finish();
        finished();
      }
      placement[copies[placed].tensor] = copies[placed].to;
    }
    if (i == model.operators()) break;
    const double time = model.operator_ns(i, placement);
    operators_ns += time;
    double unused = 1;  // of the operator's time
    while (at < copies.size() && copies[at].start <= i) {
      if (!begun) begin();
      engine.advance(i, placement, time, unused);
      if (engine.busy()) break;
      finished();
    }
  }
  out.job_ns = model.job_ns(operators_ns) + out.waited_ns;
  return out;
}

}  // namespace thermocline
