#include "daemon/payback.h"

#include <algorithm>

#include "traces/faded.h"

namespace thermocline {
namespace {

constexpr float kNew = 1.0F / 8;  // weight of a window
constexpr double kNewCost = 0.25;

// What these accesses take longer in one tier than in the other, at most.
double gain_ns(double loads, double stores, TierId slow, TierId fast,
               std::span<const TierView> tiers) {
  const double read = tiers[slow].read_ns - tiers[fast].read_ns;
  const double write = tiers[slow].write_ns - tiers[fast].write_ns;
  return loads * read + stores * std::max(read, write);
}

}  // namespace

void Payback::landed(Bytes bytes, Nanos took) {
  if (bytes == 0 || took <= 0) return;
  const double cost = static_cast<double>(took) / static_cast<double>(bytes);
  ns_per_byte_ += (ns_per_byte_ == 0 ? 1 : kNewCost) * (cost - ns_per_byte_);
}

void Payback::end_window(std::span<const ObjectView> objects, Nanos length,
                         double sample) {
  if (options_.seconds <= 0 || length <= 0) return;
  const double windows_a_second = 1e9 / static_cast<double>(length);
  one_sample_ = sample * windows_a_second * static_cast<double>(kNew);
  rates_.resize(std::max(rates_.size(), objects.size()));
  const auto each = static_cast<float>(windows_a_second);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    auto& rate = rates_[i];
    const float loads = static_cast<float>(objects[i].loads) * each;
    const float stores = static_cast<float>(objects[i].stores) * each;
    rate.loads = faded(rate.loads + kNew * (loads - rate.loads));
    rate.stores = faded(rate.stores + kNew * (stores - rate.stores));
    rate.stay_loads += static_cast<float>(objects[i].loads);
    rate.stay_stores += static_cast<float>(objects[i].stores);
  }
}

void Payback::came(ObjectId object) {
  if (object >= rates_.size()) return;
  rates_[object].stay_loads = 0;
  rates_[object].stay_stores = 0;
}

bool Payback::stay_paid(const Move& leaving, Bytes bytes,
                        std::span<const TierView> tiers) const {
  if (options_.seconds <= 0 || leaving.to <= leaving.from ||
      leaving.object >= rates_.size() || leaving.to >= tiers.size()) {
    return false;
  }
  const auto& rate = rates_[leaving.object];
  const double gain = gain_ns(static_cast<double>(rate.stay_loads),
                              static_cast<double>(rate.stay_stores), leaving.to,
                              leaving.from, tiers);
  const TierView& slow = tiers[leaving.to];
  const double there_and_back =
      ns_per_byte_ > 0
          ? 2 * ns_per_byte_
          : 1e9 / slow.read_bytes_per_s + 1e9 / slow.write_bytes_per_s;
  return gain >= there_and_back * static_cast<double>(bytes);
}

bool Payback::worth(const Move& move, Bytes bytes,
                    std::span<const TierView> tiers) const {
  const bool known = options_.seconds > 0 && ns_per_byte_ > 0 &&
                     one_sample_ > 0 && move.object < rates_.size();
  if (!known || move.to >= move.from) return true;
  if (tiers[move.from].read_ns <= tiers[move.to].read_ns) return true;
  const auto& rate = rates_[move.object];
  const double gain =
      gain_ns(static_cast<double>(rate.loads) + one_sample_,
              static_cast<double>(rate.stores), move.from, move.to, tiers);
  return gain * options_.seconds >= ns_per_byte_ * static_cast<double>(bytes);
}

}  // namespace thermocline
