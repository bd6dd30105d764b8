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
  saved_.reserve(savings.stretches());
  for (std::size_t stretch = 0; stretch < savings.stretches(); ++stretch) {
    saved_.push_back(savings.saved_in(stretch, placement_, slowest_));
    time_ -= saved_.back();
  }
}

void PlacedJob::move(ObjectId object, TierId to) {
  const Benefits& benefits = job_->benefits();
  time_ += benefits.of(object, to) - benefits.of(object, placement_[object]);
  placement_[object] = to;
  const Savings& savings = job_->savings();
  for (const auto stretch : savings.stretches_of(object)) {
    const FineNanos saved = savings.saved_in(stretch, placement_, slowest_);
    time_ -= saved - saved_[stretch];
    saved_[stretch] = saved;
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
