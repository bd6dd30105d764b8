#include "daemon/payback.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr float kNew = 1.0F / 8;  // weight of a window
constexpr double kNewCost = 0.25;

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
    rate.loads +=
        kNew * (static_cast<float>(objects[i].loads) * each - rate.loads);
    rate.stores +=
        kNew * (static_cast<float>(objects[i].stores) * each - rate.stores);
  }
}

bool Payback::worth(const Move& move, Bytes bytes,
                    std::span<const TierView> tiers) const {
  const bool known = options_.seconds > 0 && ns_per_byte_ > 0 &&
                     one_sample_ > 0 && move.object < rates_.size();
  if (!known || move.to >= move.from) return true;
  const double read = tiers[move.from].read_ns - tiers[move.to].read_ns;
  const double write = tiers[move.from].write_ns - tiers[move.to].write_ns;
  if (read <= 0) return true;
  const auto& rate = rates_[move.object];
  const double gain = (static_cast<double>(rate.loads) + one_sample_) * read +
                      static_cast<double>(rate.stores) * std::max(read, write);
  return gain * options_.seconds >= ns_per_byte_ * static_cast<double>(bytes);
}

}  // namespace thermocline
