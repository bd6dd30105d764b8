#include "estimator/sequence_run.h"

namespace thermocline {

SequenceRun::SequenceRun(std::span<const AccessShape> shapes,
                         std::span<SeenAccesses> seen)
    : shapes_(shapes),
      seen_(seen),
      core_(shapes, seen),
      needed_(shapes.size(), 0.5) {}

// When its line comes.
double SequenceRun::fetch(const OrderedAccess& access, std::size_t tier) {
  const std::size_t kind = access.kind;
  const bool store = shapes_[kind].store;
  const std::uint64_t line = line_of(access.address);
  Prefetcher::Stream* stream = prefetcher_.follow(line);
  if (stream == nullptr && access.under_way != 0) {
    stream = &prefetcher_.resume(line, access.under_way);
  }
  const double comes = stream == nullptr ? 0 : Prefetcher::comes(*stream, line);
  double done = core_.now();
  if (comes > 0) {
    done = store ? core_.store_fetched(kind, tier, comes)
                 : core_.load_fetched(kind, tier, comes);
  } else if (access.missed) {
    done = store ? core_.store(kind, tier) : core_.load(kind, tier);
  }
  if (access.written && (comes > 0 || access.missed)) core_.write(tier);
  if (stream != nullptr) {
    Prefetcher::advance(*stream, line,
                        [&] { return core_.fetch_ahead(kind, tier); });
  }
  return done;
}

void SequenceRun::add(const OrderedAccess& access, std::size_t tier) {
  const std::size_t kind = access.kind;
  const AccessShape& shape = shapes_[kind];
  const auto instructions = static_cast<double>(access.instructions);
  core_.work(instructions * shape.work_ns / shape.instructions, instructions);
  core_.wait_until(result_at_, result_of_);
  result_at_ = 0;
  if (!seen_.empty() && access.missed) seen_[kind].count += 1;
  const double done = fetch(access, tier);
  if (shape.store) return core_.post(done);
  core_.issue_load(kind, done);
  needed_[kind] += shape.needed;
  if (needed_[kind] < 1) return;
  needed_[kind] -= 1;
  result_at_ = done;
  result_of_ = kind;
}

}  // namespace thermocline
