#include "estimator/placed_job.h"

#include <utility>

#include "traces/result.h"

namespace thermocline {

PlacedJob::PlacedJob(const Differential& job, std::vector<TierId> placement)
    : job_(&job),
      slowest_(static_cast<TierId>(job.machine().tiers.size() - 1)),
      placement_(std::move(placement)),
      time_(job.benefits().total(placement_)) {
  const Savings& savings = job_->savings();
  saved_.reserve(savings.groups());
  for (std::size_t group = 0; group < savings.groups(); ++group) {
    saved_.push_back(savings.saved_in(group, placement_, slowest_));
    time_ -= saved_.back();
  }
}

void PlacedJob::move(ObjectId object, TierId to) {
  const Benefits& benefits = job_->benefits();
  time_ += benefits.of(object, to) - benefits.of(object, placement_[object]);
  placement_[object] = to;
  const Savings& savings = job_->savings();
  for (const auto group : savings.groups_of(object)) {
    const FineNanos saved = savings.saved_in(group, placement_, slowest_);
    time_ -= saved - saved_[group];
    saved_[group] = saved;
  }
}

double PlacedJob::total_ns_after(ObjectId object, TierId to) {
  const TierId from = placement_[object];
  move(object, to);
  const double after = total_ns();
  move(object, from);
  return after;
}

}  // namespace thermocline
