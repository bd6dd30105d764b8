#include "estimator/class_shapes.h"

#include <algorithm>
#include <cmath>

#include "estimator/class_costs.h"
#include "estimator/class_work.h"
#include "estimator/sample_order.h"

namespace thermocline {
namespace {

AccessShape shape_of(const AccessClass& what, const Machine& machine) {
  AccessShape shape;
  shape.store = what.store;
  shape.sequential = what.sequential;
  shape.streams = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::lround(what.streams)), 1, kMostLookBackOwn);
  AccessClass read = what, written = what;
  read.back = 0;
  written.lines = 0;
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    const Tier& tier = machine.tiers[t];
    shape.read_ns[t] = link_ns(read, tier);
    shape.written_ns[t] = link_ns(written, tier);
    shape.latency_ns[t] = what.store ? tier.write_ns : tier.read_ns;
  }
  return shape;
}

}  // namespace

std::vector<AccessShape> class_shapes(std::span<const AccessClass> classes,
                                      const Trace& trace,
                                      std::span<const std::uint32_t> of_sample,
                                      const Machine& machine) {
  std::vector<AccessShape> shapes;
  for (const AccessClass& what : classes) {
    shapes.push_back(shape_of(what, machine));
  }
  const auto work =
      class_work(trace, of_sample, shapes.size(), machine.cycles_per_ns);
  for (std::size_t c = 0; c < shapes.size(); ++c) {
    if (work[c].instructions <= 0) continue;
    shapes[c].work_ns = work[c].ns;
    shapes[c].instructions = work[c].instructions;
  }
  return shapes;
}

}  // namespace thermocline
