#include "tracer/aggregation.h"

#include "tracer/habits_file.h"

namespace thermocline {
namespace {

// Iterations that are watched in any case: the first has the weights' birth,
// the second is the first of the common kind, and what it leaves behind is
// known when the third has ended.
constexpr std::uint64_t kWatchedAtFirst = 4;

TensorHeat::Options heat_options(const AggregationOptions& options) {
  return {options.weights, static_cast<std::size_t>(options.heat_parts),
          static_cast<std::size_t>(options.distance_parts)};
}

}  // namespace

Aggregation::Aggregation(const AggregationOptions& options)
    : options_(options), heat_(heat_options(options)) {}

Result<std::unique_ptr<Aggregation>> Aggregation::make(
    const AggregationOptions& options) {
  std::unique_ptr<Aggregation> made(new Aggregation(options));
  Arenas::Options arenas;
  arenas.classes = TensorHeat::classes(made->heat_);
  arenas.keep_bytes = static_cast<Bytes>(options.keep_bytes);
  arenas.overhead = options.overhead;
  arenas.large_bytes = static_cast<Bytes>(options.large_bytes);
  arenas.huge_pages = options.huge_pages;
  auto reserved = Arenas::make(arenas);
  if (!reserved) return reserved.error();
  made->arenas_ = *std::move(reserved);
  if (!options.profile.empty()) {
    auto known = load_habits(options.profile);
    if (!known && known.error().code != Error::Code::kNotFound) {
      return known.error();
    }
    if (known) {
      made->habits_ = *std::move(known);
      made->classify();
      made->placing_ = !made->classes_.empty();
    }
  }
  return made;
}

Aggregation::Place Aggregation::place(std::uint64_t site, Bytes bytes) {
  Place place;
  std::size_t where = 0;
  {
    const std::lock_guard lock(mutex_);
    place.key = habits_.next(site, bytes);
    const auto known = classes_.find(place.key);
    ++(known != classes_.end() ? step_foreseen_ : step_unforeseen_);
    if (known == classes_.end() || !placing_) return place;
    where = known->second;
  }
  place.memory = arenas_->take(where, bytes);
  return place;
}

void Aggregation::born(ObjectId tensor, TensorHabits::Key key, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  habits_.born(tensor, key, bytes);
}

void Aggregation::died(ObjectId tensor) {
  const std::lock_guard lock(mutex_);
  habits_.died(tensor);
}

void Aggregation::used(std::span<const ObjectId> reads,
                       std::span<const ObjectId> writes) {
  const std::lock_guard lock(mutex_);
  habits_.used(reads, writes);
}

void Aggregation::end_step() {
  const std::lock_guard lock(mutex_);
  const bool watched = watching();
  habits_.end_step(watched);
  if (watched) {
    classify();
    step_end_ = arenas_->totals();
    unwatched_ = 0;
  } else {
    ++unwatched_;
  }
  const auto all = step_foreseen_ + step_unforeseen_;
  placing_ = static_cast<double>(step_foreseen_) >=
             options_.repeat * static_cast<double>(all);
  foreseen_ += step_foreseen_;
  unforeseen_ += step_unforeseen_;
  step_foreseen_ = step_unforeseen_ = 0;
  watching_ = !placing_ || habits_.steps() < kWatchedAtFirst ||
              unwatched_ + 1 >= static_cast<std::uint64_t>(options_.recheck);
}

// Where the next tensor of each key goes, by what is known now.
void Aggregation::classify() {
  const TensorHeat heat(heat_, habits_.all(), habits_.step_operators());
  for (const auto& [key, habit] : habits_.all()) {
    classes_[key] = static_cast<std::uint16_t>(heat.class_of(habit));
  }
}

Aggregation::Totals Aggregation::totals() const {
  Totals totals;
  totals.arenas = arenas_->totals();
  const std::lock_guard lock(mutex_);
  totals.step_end = step_end_;
  totals.steps = habits_.steps();
  totals.keys = classes_.size();
  totals.foreseen = foreseen_ + step_foreseen_;
  totals.unforeseen = unforeseen_ + step_unforeseen_;
  totals.placing = placing_;
  return totals;
}

std::vector<Aggregation::Figure> Aggregation::figures() const {
  const auto now = totals();
  const auto& arenas = now.arenas;
  const auto& end = now.step_end;
  return {{"steps", now.steps},
          {"placing", now.placing ? 1u : 0u},
          {"keys", now.keys},
          {"foreseen", now.foreseen},
          {"unforeseen", now.unforeseen},
          {"placed", arenas.taken},
          {"refused", arenas.refused},
          {"live_tensors", end.blocks},
          {"live_bytes", end.live},
          {"reserved_bytes", end.reserved},
          {"peak_live_bytes", arenas.peak_live},
          {"peak_reserved_bytes", arenas.peak_reserved},
          {"returned_bytes", arenas.returned},
          {"pages", end.pages},
          {"least_pages", end.least_pages}};
}

Status Aggregation::save() const {
  if (options_.profile.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (habits_.all().empty()) return {};
  return save_habits(habits_, options_.profile);
}

void Aggregation::before_fork() {
  mutex_.lock();
  arenas_->before_fork();
}

void Aggregation::after_fork() {
  arenas_->after_fork();
  mutex_.unlock();
}

}  // namespace thermocline
