#include "training/scheduling/load_model.h"

namespace thermocline {

void LoadModel::measured(const std::string& kind, double size, double seconds) {
  if (!(size > 0) || !(seconds >= 0)) return;
  const double now = seconds / size;
  const auto [at, fresh] = seconds_a_unit_.emplace(kind, now);
  if (!fresh) at->second += weight_ * (now - at->second);
}

double LoadModel::expected(const std::string& kind, double size) const {
  if (const auto at = seconds_a_unit_.find(kind); at != seconds_a_unit_.end()) {
    return at->second * size;
  }
  if (seconds_a_unit_.empty()) return size;
  double sum = 0;
  for (const auto& [unused, seconds] : seconds_a_unit_) sum += seconds;
  return sum / static_cast<double>(seconds_a_unit_.size()) * size;
}

}  // namespace thermocline
