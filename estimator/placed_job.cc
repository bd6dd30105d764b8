#include "estimator/placed_job.h"

#include <algorithm>
#include <utility>

#include "traces/result.h"

namespace thermocline {

PlacedJob::PlacedJob(const Differential& job, std::vector<TierId> placement)
    : job_(&job),
      placement_(std::move(placement)),
      time_(job.benefits().total(placement_)) {
  const Savings& savings = job_->savings();
  samples_.assign(savings.stretches() * savings.tiers(), 0);
  stretches_.resize(savings.stretches());
  if (stretches_.empty()) return;
  for (std::size_t o = 0; o < placement_.size(); ++o) {
    for (const auto& part : savings.parts_of(static_cast<ObjectId>(o))) {
      samples_[part.stretch * savings.tiers() + placement_[o]] += part.samples;
    }
  }
  for (std::size_t s = 0; s < stretches_.size(); ++s) {
    if (!mixed(s)) continue;
    stretches_[s].saved = savings.saved_in(s, placement_);
    time_ -= stretches_[s].saved;
  }
}

bool PlacedJob::mixed(std::size_t stretch) const {
  const std::size_t tiers = job_->savings().tiers();
  const auto by_tier = std::span(samples_).subspan(stretch * tiers, tiers);
  return std::count(by_tier.begin(), by_tier.end(), 0U) <
         static_cast<std::ptrdiff_t>(tiers) - 1;
}

void PlacedJob::count(std::span<const Savings::Part> parts, TierId from,
                      TierId to) {
  for (const auto& part : parts) {
    std::uint32_t* const tiers =
        &samples_[part.stretch * job_->savings().tiers()];
    tiers[from] -= part.samples;
    tiers[to] += part.samples;
  }
}

double PlacedJob::total_ns() {
  for (const auto s : changed_) {
    Stretch& one = stretches_[s];
    const FineNanos saved =
        mixed(s) ? job_->savings().saved_in(s, placement_) : 0;
    time_ -= saved - one.saved;
    one = {saved, false};
  }
  changed_.clear();
  return to_ns(time_);
}

void PlacedJob::move(ObjectId object, TierId to) {
  const Benefits& benefits = job_->benefits();
  const TierId from = std::exchange(placement_[object], to);
  if (from == to) return;
  time_ += benefits.of(object, to) - benefits.of(object, from);
  if (stretches_.empty()) return;
  const auto parts = job_->savings().parts_of(object);
  count(parts, from, to);
  const bool tried = trial_.known && trial_.object == object && trial_.to == to;
  trial_.known = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto s = parts[i].stretch;
    Stretch& one = stretches_[s];
    if (tried) {  // nothing has changed since
      time_ -= trial_.saved[i] - one.saved;
      one.saved = trial_.saved[i];
    } else if (!one.changed) {
      one.changed = true;
      changed_.push_back(s);
    }
  }
}

double PlacedJob::total_ns_after(ObjectId object, TierId to) {
  total_ns();
  const Benefits& benefits = job_->benefits();
  const TierId from = placement_[object];
  FineNanos after = time_ + benefits.of(object, to) - benefits.of(object, from);
  if (from == to || stretches_.empty()) return to_ns(after);
  const Savings& savings = job_->savings();
  const auto parts = savings.parts_of(object);
  trial_.saved.clear();
  placement_[object] = to;
  count(parts, from, to);
  for (const auto& part : parts) {
    trial_.saved.push_back(
        mixed(part.stretch) ? savings.saved_in(part.stretch, placement_) : 0);
    after -= trial_.saved.back() - stretches_[part.stretch].saved;
  }
  count(parts, to, from);
  placement_[object] = from;
  trial_.object = object;
  trial_.to = to;
  trial_.known = true;
  return to_ns(after);
}

}  // namespace thermocline
