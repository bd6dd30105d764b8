#include "estimator/core_run.h"

#include <algorithm>

#include "estimator/below.h"

namespace thermocline {
namespace {

constexpr int kAhead = 20;    // lines that are fetched ahead
constexpr int kStagger = 23;  // streams do not begin their pages together

}  // namespace

CoreRun::CoreRun(const AccessModel& model, std::span<SeenAccesses> seen)
    : model_(model), seen_(seen), progress_(model.shapes.size()) {
  int line = 0;
  for (std::size_t s = 0; s < progress_.size(); ++s) {
    const AccessShape& shape = model_.shapes[s];
    if (!shape.sequential) continue;
    progress_[s].cursors.resize(shape.streams);
    for (Cursor& cursor : progress_[s].cursors) {
      cursor.line = line;
      cursor.fetched = std::min(line + kAhead, kPageLines - 1);
      line = (line + kStagger) % kPageLines;
    }
  }
}

void CoreRun::run(std::span<Step> steps, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = steps.size(); i > 1; --i) {
      std::swap(steps[i - 1], steps[below(random_, i)]);
    }
    for (const Step& step : steps) {
      const AccessShape& shape = model_.shapes[step.shape];
      Progress& own = progress_[step.shape];
      own.owed += shape.weight;
      if (own.owed < 1) continue;
      own.owed -= 1;
      own.waiting[own.waits++] = static_cast<std::uint8_t>(step.tier);
      if (own.waits >= shape.burst) burst(step.shape);
    }
  }
}

void CoreRun::burst(std::size_t s) {
  const AccessShape& shape = model_.shapes[s];
  Progress& own = progress_[s];
  const auto count = static_cast<double>(own.waits);
  // Of what an access computes, so much before it and the rest later.
  const double apart = std::min(model_.apart, shape.instructions);
  const double apart_ns =
      apart > 0 ? shape.work_ns * apart / shape.instructions : 0;
  owed_ns_ += (shape.work_ns - apart_ns) * count;
  owed_instructions_ += (shape.instructions - apart) * count;
  gathered_ += own.waits;
  if (gathered_ >= model_.together) {
    work(owed_ns_, owed_instructions_);
    owed_ns_ = owed_instructions_ = 0;
    gathered_ = 0;
  }
  wait_until(result_at_, result_of_);
  accesses_ += count;
  if (!seen_.empty()) seen_[s].count += count;
  result_at_ = 0;
  double done = 0;
  for (std::size_t i = 0; i < own.waits; ++i) {
    const std::size_t tier = own.waiting[i];
    if (apart > 0) work(apart_ns, apart);
    if (shape.sequential) {
      done = stream(s, tier);
    } else if (shape.store) {
      done = fetch(shape, tier);
    } else {
      done = load(s, tier);
    }
    if (shape.store) {
      post(done, s);
      continue;
    }
    if (flights_end_ - flights_begin_ == kFlights) {
      const Flight& oldest = flights_[flights_begin_++ % kFlights];
      wait_until(oldest.done, oldest.shape);
    }
    flights_[flights_end_++ % kFlights] = {done, instructions_, s};
  }
  own.waits = 0;
  own.needed += shape.needed;
  if (own.needed < 1) return;
  own.needed -= 1;
  result_at_ = done;
  result_of_ = s;
}

void CoreRun::wait_until(double time, std::size_t shape) {
  if (time <= now_) return;
  if (!seen_.empty()) seen_[shape].waited += time - now_;
  now_ = time;
}

// Computes, beside loads in flight. In order: what is a window behind must
// have come.
void CoreRun::work(double ns, double instructions) {
  now_ += ns;
  instructions_ += instructions;
  while (flights_begin_ != flights_end_) {
    const Flight& oldest = flights_[flights_begin_ % kFlights];
    if (oldest.at > instructions_ - kWindowInstructions) break;
    wait_until(oldest.done, oldest.shape);
    ++flights_begin_;
  }
}

// Asks for a line now; returns when it comes.
double CoreRun::fetch(const AccessShape& shape, std::size_t tier) {
  Line& old = cached_[below(leaves_, kCached)];
  if (old.back_ns > 0) {
    double& back = link_free_[old.tier];
    back = std::max(back, now_) + old.back_ns;
  }
  old = {shape.written_ns[tier], tier};
  double& link = link_free_[tier];
  const double start = std::max(link, now_);
  link = start + shape.read_ns[tier];
  return start + shape.latency_ns[tier];
}

// Waits for one.
CoreRun::Buffer& CoreRun::free_load_buffer() {
  Buffer& buffer = *std::min_element(
      loads_.begin(), loads_.end(),
      [](const Buffer& a, const Buffer& b) { return a.free < b.free; });
  wait_until(buffer.free, buffer.shape);
  return buffer;
}

double CoreRun::take_load_buffer(std::size_t s, std::size_t tier) {
  Buffer& buffer = free_load_buffer();
  buffer = {fetch(model_.shapes[s], tier), s};
  return buffer.free;
}

double CoreRun::load(std::size_t s, std::size_t tier) {
  const double done = take_load_buffer(s, tier);
  if (!seen_.empty()) seen_[s].latency.add(done - now_);
  return done;
}

double CoreRun::stream(std::size_t s, std::size_t tier) {
  const AccessShape& shape = model_.shapes[s];
  Progress& own = progress_[s];
  Cursor& cursor = own.cursors[own.turn++ % own.cursors.size()];
  const int line = cursor.line;
  if (line == 0) cursor.fetched = -1;
  double done = 0;
  if (line <= cursor.fetched) {
    done = cursor.ready[static_cast<std::size_t>(line)];
    if (!shape.store && done > now_) {  // on its way
      Buffer& buffer = free_load_buffer();
      buffer = {std::max(done, now_), s};
    }
  } else {
    done = shape.store ? fetch(shape, tier) : take_load_buffer(s, tier);
    cursor.fetched = line;
  }
  const int reach = std::min(line + std::min(kAhead, 2 * line), kPageLines - 1);
  while (cursor.fetched < reach) {
    ++cursor.fetched;
    cursor.ready[static_cast<std::size_t>(cursor.fetched)] = fetch(shape, tier);
  }
  cursor.line = (line + 1) % kPageLines;
  return done;
}

void CoreRun::post(double done, std::size_t shape) {
  wait_until(stores_[store_], shape);
  drained_ = std::max(drained_, done);
  stores_[store_] = drained_;
  store_ = (store_ + 1) % kStores;
}

}  // namespace thermocline
