#include "estimator/core_run.h"

#include <algorithm>

#include "estimator/below.h"

namespace thermocline {
namespace {

constexpr int kAhead = 20;    // lines that are fetched ahead
constexpr int kStagger = 23;  // streams do not begin their pages together

}  // namespace

CoreRun::CoreRun(const AccessModel& model, std::span<SeenAccesses> seen)
    : model_(model),
      seen_(seen),
      core_(model.shapes, seen),
      progress_(model.shapes.size()) {
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
    core_.work(owed_ns_, owed_instructions_);
    owed_ns_ = owed_instructions_ = 0;
    gathered_ = 0;
  }
  core_.wait_until(result_at_, result_of_);
  accesses_ += count;
  if (!seen_.empty()) seen_[s].count += count;
  result_at_ = 0;
  double done = 0;
  for (std::size_t i = 0; i < own.waits; ++i) {
    const std::size_t tier = own.waiting[i];
    if (apart > 0) core_.work(apart_ns, apart);
    if (shape.sequential) {
      done = stream(s, tier);
    } else if (shape.store) {
      done = core_.fetch(s, tier);
    } else {
      done = core_.load(s, tier);
    }
    if (shape.store) {
      core_.await_store_buffer(s);
      core_.post(done);
    } else {
      core_.issue_load(s, done);
    }
  }
  own.waits = 0;
  own.needed += shape.needed;
  if (own.needed < 1) return;
  own.needed -= 1;
  result_at_ = done;
  result_of_ = s;
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
    if (!shape.store && done > core_.now()) {
      core_.hold_fill_buffer(s, done);  // it is on its way
    }
  } else {
    done = shape.store ? core_.fetch(s, tier) : core_.fill(s, tier);
    cursor.fetched = line;
  }
  const int reach = std::min(line + std::min(kAhead, 2 * line), kPageLines - 1);
  while (cursor.fetched < reach) {
    ++cursor.fetched;
    cursor.ready[static_cast<std::size_t>(cursor.fetched)] =
        core_.fetch(s, tier);
  }
  cursor.line = (line + 1) % kPageLines;
  return done;
}

}  // namespace thermocline
