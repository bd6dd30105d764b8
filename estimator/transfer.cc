#include "estimator/transfer.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

namespace thermocline {

Result<TransferModel> TransferModel::from_machine(const Machine& machine) {
  if (machine.tiers.empty()) return invalid("the machine has no tiers");
  TransferModel out;
  for (const Tier& tier : machine.tiers) {
    if (!(tier.read_bytes_per_s > 0) || !(tier.write_bytes_per_s > 0)) {
      return invalid("the bandwidth of tier \"" + tier.name +
                     "\" is not known; measure it with thermocline probe");
    }
    const Tier& fast = machine.tiers.front();
    out.tiers.push_back(
        {1e9 / tier.read_bytes_per_s - 1e9 / fast.read_bytes_per_s,
         1e9 / tier.write_bytes_per_s - 1e9 / fast.write_bytes_per_s, 0});
  }
  return out;
}

TransferModel TransferModel::optane() {
  TransferModel out;
  out.tiers = {{}, {1 / 31.1, 1 / 6.33, 130e3}};
  out.cached_bytes = 237e3;
  out.hidden = 0.279;
  out.read_doubt = 1.12;
  out.write_doubt = 0.50;
  out.noise = 0.079;
  out.write_noise = 0.225;
  out.endpoint = 0.40;
  return out;
}

double TransferModel::penalty_ns(Bytes bytes, bool written, TierId tier,
                                 double base_ns) const {
  const Penalty& link = tiers[tier];
  const auto size = static_cast<double>(bytes);
  if (written) {
    return size * link.write_ns_per_byte + link.write_ns;
  }
  const double whole = size * link.read_ns_per_byte;
  const double missed = whole * (size > 0 ? size / (size + cached_bytes) : 0);
  const double waited = missed + hidden * base_ns;
  return missed > 0 && waited > 0 ? missed * (missed / waited) : missed;
}

Status TransferModel::check() const {
  if (tiers.empty()) return invalid("the transfer model has no tiers");
  if (!(tiers.front() == Penalty{})) {
    return invalid("tier 0 of the transfer model has a penalty over itself");
  }
  for (const Penalty& tier : tiers) {
    if (!std::isfinite(tier.read_ns_per_byte) ||
        !std::isfinite(tier.write_ns_per_byte) ||
        !std::isfinite(tier.write_ns)) {
      return invalid("a penalty of the transfer model is not a finite number");
    }
  }
  for (const auto& [name, value, least] :
       {std::tuple{"cached_bytes", cached_bytes, 0.0},
        {"hidden", hidden, 0.0},
        {"read_doubt", read_doubt, 1e-6},
        {"write_doubt", write_doubt, 1e-6},
        {"noise", noise, 1e-6},
        {"write_noise", write_noise, 0.0},
        {"endpoint", endpoint, 1e-6}}) {
    if (!std::isfinite(value) || value < least) {
      return invalid("the transfer model's " + std::string(name) + " is " +
                     std::to_string(value) + ", needs at least " +
                     std::to_string(least));
    }
  }
  return {};
}

}  // namespace thermocline
