#include "agent/world.h"

#include <algorithm>

#include "traces/crc32c.h"

namespace thermocline {

World World::from(const Differential& differential) {
  World out;
  out.job = differential.job();
  out.modelled = differential.modelled();
  out.resident = differential.private_bytes();
  out.tiers = differential.machine().tiers;
  const auto objects = differential.objects();
  Bytes unit = 4096;
  for (const Region& region : objects) {
    out.bytes.push_back(region.bytes());
    unit = std::max(unit, region.bytes());
  }
  for (TierId from = 0; from < out.tiers.size(); ++from) {
    out.slowness.push_back(differential.slowness(from));
    for (TierId to = 0; to < out.tiers.size(); ++to) {
      out.move_ns_byte.push_back(differential.move_ns(unit, from, to) /
                                 static_cast<double>(unit));
    }
  }
  double smallest = 0;
  for (std::size_t w = 0; w < differential.windows(); ++w) {
    const auto accesses = differential.accesses(w);
    const auto waits = differential.waits(w);
    out.windows.push_back({differential.slow_ns(w),
                           differential.fast_ns(w),
                           {accesses.begin(), accesses.end()},
                           {waits.begin(), waits.end()}});
    for (const WindowAccess& access : accesses) {
      for (const double count : {access.loads, access.stores}) {
        if (count > 0 && (smallest <= 0 || count < smallest)) smallest = count;
      }
    }
  }
  if (smallest > 0) out.period = smallest;
  return out;
}

World World::repeated(std::size_t times) const {
  CHECK(times >= 1);
  World out = *this;
  out.windows.reserve(windows.size() * times);
  for (std::size_t i = 1; i < times; ++i) {
    out.windows.insert(out.windows.end(), windows.begin(), windows.end());
  }
  return out;
}

double World::slow_ns() const {
  double sum = 0;
  for (const Window& window : windows) sum += window.slow_ns;
  return sum;
}

double World::fast_ns() const {
  double sum = 0;
  for (const Window& window : windows) sum += window.fast_ns;
  return sum;
}

Bytes World::footprint() const {
  std::vector<bool> seen(bytes.size(), false);
  Bytes sum = 0;
  for (const Window& window : windows) {
    for (const WindowAccess& access : window.accesses) {
      if (!seen[access.object]) sum += bytes[access.object];
      seen[access.object] = true;
    }
  }
  return sum;
}

std::uint64_t World::fingerprint() const {
  std::vector<double> all = move_ns_byte;
  all.push_back(static_cast<double>(resident));
  all.insert(all.end(), bytes.begin(), bytes.end());
  for (const Window& window : windows) {
    all.insert(all.end(), {window.slow_ns, window.fast_ns});
    for (const WindowAccess& access : window.accesses) {
      all.insert(all.end(), {static_cast<double>(access.object), access.loads,
                             access.stores, access.cost});
    }
    for (const ObjectWait& wait : window.waits) {
      all.insert(all.end(),
                 {static_cast<double>(wait.object), wait.slow, wait.fast});
    }
  }
  const auto* raw = reinterpret_cast<const std::uint8_t*>(all.data());
  const std::uint64_t sum = crc32c({raw, all.size() * sizeof(double)});
  return (static_cast<std::uint64_t>(all.size()) << 32) | sum;
}

}  // namespace thermocline
