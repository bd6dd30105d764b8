#include "training/loops/runner.h"

#include <algorithm>
#include <chrono>

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// Widens the box by what the access touches in the points.
Status widen(Box& box, const ArrayAccess& access, const SharedArray& array,
             const std::vector<Point>& points) {
  for (std::size_t s = 0; s < access.at.size(); ++s) {
    std::int64_t low = 0;
    std::int64_t high = array.shape()[s] - 1;
    if (access.at[s].kind == Subscript::Kind::kAffine) {
      low = high = access.at[s].at(points.front().data());
      for (const Point& p : points) {
        const std::int64_t place = access.at[s].at(p.data());
        low = std::min(low, place);
        high = std::max(high, place);
      }
    }
    if (low < 0 || high >= array.shape()[s]) {
      return invalid(text_of(access) + " reaches from " + std::to_string(low) +
                     " to " + std::to_string(high) + ", and " + access.array +
                     " has " + std::to_string(array.shape()[s]) +
                     " places there; make the array larger, or the loop "
                     "smaller");
    }
    box.low[s] = std::min(box.low[s], low);
    box.high[s] = std::max(box.high[s], high);
  }
  return {};
}

Box nothing(std::size_t dims) {
  Box out;
  out.low.assign(dims, std::int64_t{1} << 60);
  out.high.assign(dims, -1);
  return out;
}

}  // namespace

float& Iteration::at(std::size_t array,
                     std::initializer_list<std::int64_t> place) {
  Box& box = (*boxes_)[array];
  const std::span at(place.begin(), place.size());
  CHECK(box.holds(at));  // otherwise the body touches what it did not declare
  return box.values[box.offset(at)];
}

void Iteration::add(std::size_t array,
                    std::initializer_list<std::int64_t> place, float delta) {
  const auto& shape = (*arrays_)[array]->shape();
  CHECK(place.size() == shape.size());
  std::int64_t element = 0;
  std::size_t k = 0;
  for (const std::int64_t i : place) {
    CHECK(i >= 0 && i < shape[k]);
    element = element * shape[k++] + i;
  }
  (*buffers_)[array][element] += delta;
}

LoopRunner::LoopRunner(Ranks& ranks, const Schedule& schedule,
                       std::vector<SharedArray*> arrays)
    : ranks_(&ranks),
      schedule_(schedule),
      arrays_(std::move(arrays)),
      buffers_(arrays_.size()) {}

Result<LoopRunner> LoopRunner::make(Ranks& ranks, const Loop& loop,
                                    const Schedule& schedule,
                                    std::vector<SharedArray*> arrays) {
  if (schedule.ranks() != ranks.size()) {
    return invalid("the schedule is for " + std::to_string(schedule.ranks()) +
                   " ranks, the job has " + std::to_string(ranks.size()) +
                   "; plan for as many");
  }
  LoopRunner out(ranks, schedule, std::move(arrays));
  for (const ArrayAccess& access : loop.accesses) {
    const auto found = std::find_if(
        out.arrays_.begin(), out.arrays_.end(),
        [&](const SharedArray* a) { return a->name() == access.array; });
    if (found == out.arrays_.end()) {
      return invalid("the loop uses array " + access.array +
                     ", which is not given; give it to the runner");
    }
    if ((*found)->shape().size() != access.at.size()) {
      return invalid(text_of(access) + ": the array has " +
                     std::to_string((*found)->shape().size()) +
                     " dimensions; give a subscript for each");
    }
    out.array_of_.push_back(
        static_cast<std::size_t>(found - out.arrays_.begin()));
  }
  for (int clock = 0; clock < schedule.clocks(); ++clock) {
    Step step;
    step.tile = schedule.tile(ranks.rank(), clock);
    auto boxes = out.boxes_of(loop, step.tile);
    if (!boxes) return boxes.error();
    step.boxes = *std::move(boxes);
    out.steps_.push_back(std::move(step));
  }
  return out;
}

Result<std::vector<Box>> LoopRunner::boxes_of(const Loop& loop,
                                              const Tile& tile) const {
  std::vector<Box> out;
  for (const SharedArray* array : arrays_) {
    out.push_back(nothing(array->shape().size()));
  }
  for (std::size_t a = 0; a < array_of_.size(); ++a) {
    if (tile.points.empty()) break;
    if (loop.accesses[a].mode == ArrayAccess::Mode::kBuffered) continue;
    const std::size_t which = array_of_[a];
    if (auto ok =
            widen(out[which], loop.accesses[a], *arrays_[which], tile.points);
        !ok) {
      return ok.error();
    }
  }
  return out;
}

Result<LoopStats> LoopRunner::run(const Body& body) {
  LoopStats stats;
  const auto start = Clock::now();
  std::int64_t bytes = 0;
  for (const SharedArray* array : arrays_) bytes -= array->remote_bytes();
  const auto meet = [&]() -> Status {
    const auto from = Clock::now();
    auto met = ranks_->barrier();
    stats.waiting_seconds += seconds_since(from);
    return met;
  };
  if (auto ok = meet(); !ok) return ok.error();
  Iteration iteration;
  iteration.buffers_ = &buffers_;
  iteration.arrays_ = &arrays_;
  for (int clock = 0; clock < schedule_.clocks(); ++clock) {
    Step& step = steps_[static_cast<std::size_t>(clock)];
    const bool used = !step.tile.points.empty();
    for (std::size_t a = 0; used && a < arrays_.size(); ++a) {
      if (step.boxes[a].high[0] < 0) continue;  // buffered only
      if (auto ok = arrays_[a]->fetch(step.boxes[a]); !ok) return ok.error();
    }
    tell_ahead(clock + 1);
    iteration.boxes_ = &step.boxes;
    for (std::size_t i = 0; i < step.tile.points.size(); ++i) {
      iteration.point_ = &step.tile.points[i];
      if (!step.tile.which.empty()) iteration.which_ = step.tile.which[i];
      body(iteration);
    }
    stats.iterations += static_cast<std::int64_t>(step.tile.points.size());
    for (std::size_t a = 0; used && a < arrays_.size(); ++a) {
      if (auto ok = arrays_[a]->put_changes(step.boxes[a]); !ok) {
        return ok.error();
      }
      // The next clock fetches again; only the shape of the box is kept.
      step.boxes[a].values = {};
      step.boxes[a].before = {};
    }
    if (auto ok = meet(); !ok) return ok.error();
    if (!schedule_.applies_after(clock)) continue;
    if (auto ok = apply_buffers(); !ok) return ok.error();
  }
  for (const SharedArray* array : arrays_) bytes += array->remote_bytes();
  stats.remote_bytes = bytes;
  stats.seconds = seconds_since(start);
  return stats;
}

Status LoopRunner::foretell(const Loop& loop, AccessListener& listener) {
  std::vector<bool> written(arrays_.size(), false);
  for (std::size_t a = 0; a < array_of_.size(); ++a) {
    if (loop.accesses[a].mode != ArrayAccess::Mode::kRead) {
      written[array_of_[a]] = true;
    }
  }
  std::vector<std::vector<Use>> ahead;
  for (int clock = 0; clock < schedule_.clocks(); ++clock) {
    auto& uses = ahead.emplace_back();
    for (int rank = 0; rank < ranks_->size(); ++rank) {
      const Tile tile = schedule_.tile(rank, clock);
      const auto boxes = boxes_of(loop, tile);
      if (!boxes) return boxes.error();
      for (std::size_t a = 0; a < arrays_.size(); ++a) {
        for (const auto& memory : arrays_[a]->here((*boxes)[a])) {
          uses.push_back({memory, written[a]});
        }
      }
    }
  }
  ahead_ = std::move(ahead);
  listener_ = &listener;
  return {};
}

// After the last clock comes the first of the next pass.
void LoopRunner::tell_ahead(int clock) {
  if (listener_ == nullptr) return;
  const auto at = static_cast<std::size_t>(clock % schedule_.clocks());
  for (const Use& use : ahead_[at]) {
    const double lines = lines_of(use.memory.size());
    listener_->touch(use.memory.data(), use.memory.size(), lines,
                     use.written ? lines : 0);
  }
  listener_->tell();
}

// Rank by rank, so that the sums have the same bits in every run.
Status LoopRunner::apply_buffers() {
  std::int64_t pending = 0;
  for (const auto& buffer : buffers_) {
    pending += static_cast<std::int64_t>(buffer.size());
  }
  const auto all = ranks_->gather(pending);
  if (!all) return all.error();
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    if ((*all)[static_cast<std::size_t>(rank)] == 0) continue;
    for (std::size_t a = 0; rank == ranks_->rank() && a < arrays_.size(); ++a) {
      const std::vector<std::pair<std::int64_t, float>> deltas(
          buffers_[a].begin(), buffers_[a].end());
      buffers_[a].clear();
      if (deltas.empty()) continue;
      if (auto ok = arrays_[a]->add(deltas); !ok) return ok;
    }
    if (auto ok = ranks_->barrier(); !ok) return ok;
  }
  return {};
}

}  // namespace thermocline
