#include "estimator/access_cost.h"

#include <algorithm>

namespace thermocline {

double transfer_ns(double bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? bytes * 1e9 / bytes_per_s : 0;
}

AccessCost access_cost(const Tier& tier) {
  return {std::max(transfer_ns(kLineBytes, tier.read_bytes_per_s),
                   tier.read_ns / kOverlap),
          std::max(transfer_ns(kLineBytes, tier.write_bytes_per_s),
                   tier.write_ns / kOverlap)};
}

double store_weight(const Machine& machine) {
  const AccessCost fast = access_cost(machine.tiers.front());
  const AccessCost slow = access_cost(machine.tiers.back());
  const double load = slow.load_ns - fast.load_ns;
  const double store = slow.store_ns - fast.store_ns;
  if (load <= 0 || store <= 0) return 1;
  return store / load;
}

std::vector<double> slowness(const Machine& machine) {
  const auto& tiers = machine.tiers;
  std::vector<double> out(tiers.size(), 0);
  if (tiers.size() < 2) return out;
  const double low = tiers.front().read_ns;
  const double span = tiers.back().read_ns - low;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const double even =
        static_cast<double>(t) / static_cast<double>(tiers.size() - 1);
    const double known = tiers[t].read_ns;
    out[t] = span > 0 && known > 0 ? std::clamp((known - low) / span, 0.0, 1.0)
                                   : even;
  }
  out.front() = 0;
  out.back() = 1;
  return out;
}

double move_ns(const Machine& machine, Bytes bytes, Bytes page_bytes,
               TierId from, TierId to) {
  if (from == to || bytes == 0) return 0;
  const auto known = [](double bandwidth) {
    return bandwidth > 0 ? bandwidth : kAssumedBandwidth;
  };
  const double size = static_cast<double>(bytes);
  const Bytes pages = (bytes + page_bytes - 1) / page_bytes;
  return transfer_ns(size, known(machine.tiers[from].read_bytes_per_s)) +
         transfer_ns(size, known(machine.tiers[to].write_bytes_per_s)) +
         kPageMoveNs * static_cast<double>(pages);
}

}  // namespace thermocline
