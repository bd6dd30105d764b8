#include "policies/plan_follower.h"

#include <algorithm>
#include <cstdio>

namespace thermocline {
namespace {

constexpr double kLearning = 0.1;  // weight of the latest event or copy
constexpr double kLife = 2;        // copies that fit into a life worth a move
constexpr double kUnheardShare = 0.25;  // of a step: then a guess will do
constexpr double kSlowFor = 2e9;        // ns that slow steps must last
constexpr std::size_t kMostNews = 16;

}  // namespace

PlanFollower::PlanFollower(const Iteration& iteration, bool marked)
    : iteration_(iteration),
      step_(iteration, marked),
      moves_of_(iteration.tensors()),
      wanted_(iteration.tensors(), kNoTier),
      lies_(iteration.tensors()),
      todo_(iteration.tensors()) {}

void PlanFollower::set_plan(Plan plan) {
  CHECK(plan.birth.size() == iteration_.tensors());
  plan_ = std::move(plan);
  const auto& moves = plan_->moves;
  for (auto& of_one : moves_of_) of_one.clear();
  largest_ = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    moves_of_[moves[i].tensor].push_back(i);
    largest_ = std::max(largest_, iteration_.tensor(moves[i].tensor).bytes);
  }
  from_.assign(moves.size(), kNoTier);
  for (std::uint32_t t = 0; t < moves_of_.size(); ++t) {
    std::stable_partition(
        moves_of_[t].begin(), moves_of_[t].end(),
        [&](std::size_t i) { return in_first_part(t, moves[i]); });
    TierId from = plan_->birth[t];
    for (const auto i : moves_of_[t]) {
      from_[i] = from;
      from = moves[i].to;
    }
  }
  applied_.assign(moves.size(), false);
  forget();
  state_ = State::kLearning;
  if (alike_ >= needs_) take_up();
}

// Of one that wraps: whether it is moved before the step ends.
bool PlanFollower::in_first_part(std::uint32_t t, const Copy& move) const {
  const auto& one = iteration_.tensor(t);
  return !one.wraps || one.persistent || move.start > one.born;
}

void PlanFollower::forget() {
  for (const auto t : open_) todo_[t].open = false;
  open_.clear();
  judged_.clear();
}

void PlanFollower::died(ObjectId serial) {
  const auto t = step_.find(serial);
  step_.died(serial);
  if (t && todo_[*t].open && lies_[*t].serial == serial) close(*t);
}

void PlanFollower::ran(const Operator& op, Nanos now) {
  const auto late = static_cast<double>(std::max<Nanos>(0, now - op.end));
  lag_ns_ += kLearning * (late - lag_ns_);
  if (const auto step = step_.ran(op)) ended(*step);
  recognise();
  judge(false);
}

void PlanFollower::mark(const Mark& mark) {
  if (const auto step = step_.mark(mark)) ended(*step);
}

void PlanFollower::ended(const StepFollower::Ended& step) {
  judge(true);
  if (step.lost) {
    ++counts_.steps_lost;
    alike_ = 0;
    if (++unheard_ >= kUnheard) drop("events of its steps keep being lost");
    return begin_step();
  }
  unheard_ = 0;
  if (!step.alike) {
    ++counts_.steps_unlike;
    alike_ = 0;
    if (++unlike_ >= kUnlike) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "the job departs from the recorded step: of %zu operators "
                    "%zu are missing and %zu new, and %.0f %% of the bytes "
                    "were recognised",
                    iteration_.operators(), step.missing, step.extra,
                    100 * step.found);
      drop(text);
    }
    tell_of_no_match();
    return begin_step();
  }
  unlike_ = 0;
  ++alike_;
  ++counts_.steps_alike;
  const auto length = static_cast<double>(step.length_ns);
  if (in_force()) {
    ++counts_.steps_in_force;
    usual_ns_ = std::min(usual_ns_, step_.length_ns());
    slow_ = length > kOff * usual_ns_ ? slow_ + 1 : 0;
    // Each took at least so long: together no mere burst of others' work.
    const double slow_ns = static_cast<double>(slow_) * kOff * usual_ns_;
    if (slow_ >= kSlow && slow_ns >= kSlowFor) {
      char text[96];
      std::snprintf(text, sizeof text,
                    "a step takes %.3g ms instead of the usual %.3g",
                    length / 1e6, usual_ns_ / 1e6);
      drop(text);
    }
  } else if (plan_ && alike_ >= needs_) {
    return take_up();
  }
  begin_step();
}

// Once, so that nobody waits for what never comes.
void PlanFollower::tell_of_no_match() {
  if (state_ != State::kLearning || counts_.steps_alike > 0) return;
  if (counts_.steps_unlike != kUnheard) return;
  news_.push_back("none of " + std::to_string(kUnheard) +
                  " steps was like the recorded one; was another job recorded, "
                  "or with other sizes?");
}

void PlanFollower::take_up() {
  if (!step_.timed()) return;
  state_ = State::kInForce;
  why_.clear();
  usual_ns_ = step_.length_ns();
  slow_ = unlike_ = unheard_ = 0;
  news_.push_back(
      "the plan is in force: " + std::to_string(plan_->moves.size()) +
      " moves a step" + (plan_->note.empty() ? "" : "; " + plan_->note));
  // Where things lie is not known any more, if it ever was.
  std::fill(lies_.begin(), lies_.end(), Lies{});
  std::fill(applied_.begin(), applied_.end(), false);
  first_open_ = 0;
  // In the middle of a step, as when the plan has just come: it is caught up.
  for (std::size_t i = 0; i < applied_.size(); ++i) {
    applied_[i] = plan_->moves[i].start < step_.position();
  }
  for (std::uint32_t t = 0; t < wanted_.size(); ++t) {
    if (step_.tensor(t).serial == 0) continue;
    lies_[t].serial = step_.tensor(t).serial;
    want(t, tier_now(t), iteration_.operators(), true);
  }
}

void PlanFollower::drop(const std::string& why) {
  unlike_ = unheard_ = slow_ = alike_ = 0;
  if (!in_force()) return;
  state_ = State::kDropped;
  why_ = why;
  ++counts_.drops;
  needs_ = std::min(kMostSettled, 2 * needs_);
  if (news_.size() < kMostNews) {
    news_.push_back("the plan is dropped: " + why +
                    "; it is taken up again "
                    "after " +
                    std::to_string(needs_) + " steps that match");
  }
  forget();
}

// The tier of a tensor by what was applied of its moves, in its life so far.
TierId PlanFollower::tier_now(std::uint32_t t) const {
  const auto& one = iteration_.tensor(t);
  const bool whole = !one.wraps || one.persistent;
  // One that wraps is in its second part until it dies.
  const bool second = !whole && step_.position() <= one.dies;
  TierId out = plan_->birth[t];
  for (const auto i : moves_of_[t]) {
    const Copy& move = plan_->moves[i];
    const bool in_force =
        whole || in_first_part(t, move) != second ? applied_[i] : second;
    if (in_force) out = move.to;
  }
  return out;
}

void PlanFollower::recognise() {
  for (const auto t : step_.recognised()) {
    if (!in_force() || lies_[t].serial == step_.tensor(t).serial) continue;
    lies_[t] = {step_.tensor(t).serial, kNoTier};
    want(t, tier_now(t), iteration_.operators(), true);
  }
}

void PlanFollower::begin_step() {
  if (!in_force()) return;
  // What is open still is wanted now, if the tensor lives on.
  for (const auto t : open_) {
    if (!todo_[t].open) continue;
    todo_[t].needed = 0;
    if (!iteration_.tensor(t).wraps) close(t);
  }
  // Moves that no event called for, such as those due by the step's end.
  for (std::size_t i = 0; i < applied_.size(); ++i) {
    if (applied_[i]) continue;
    if (iteration_.tensor(plan_->moves[i].tensor).wraps) {
      apply(i);
    } else {
      ++counts_.moves_missed;
    }
  }
  std::fill(applied_.begin(), applied_.end(), false);
  first_open_ = 0;
}

double PlanFollower::copy_ns(Bytes bytes) const {
  return ns_per_byte_ * static_cast<double>(bytes);
}

Nanos PlanFollower::time_of(std::size_t move) const {
  const Copy& copy = plan_->moves[move];
  const Nanos start = step_.expected(copy.start);
  const auto lag = static_cast<Nanos>(lag_ns_);
  const auto& one = iteration_.tensor(copy.tensor);
  if (copy.to > from_[move]) {
    const auto patience = static_cast<Nanos>(kUnheardShare * step_.length_ns());
    return step_.position() >= copy.start ? start : start + lag + patience;
  }
  const auto ahead = static_cast<Nanos>(copy_ns(one.bytes));
  return std::min(start, step_.expected(copy.needed) - ahead) - lag;
}

// Whether this move, and so all after it, comes later than that: `start` never
// decreases.
bool PlanFollower::later_than(Nanos time, std::size_t move) const {
  const double ahead = copy_ns(largest_) + lag_ns_;
  return step_.expected(plan_->moves[move].start) - static_cast<Nanos>(ahead) >
         time;
}

void PlanFollower::apply(std::size_t move) {
  const Copy& copy = plan_->moves[move];
  applied_[move] = true;
  want(static_cast<std::uint32_t>(copy.tensor), copy.to, copy.needed, false);
}

void PlanFollower::want(std::uint32_t t, TierId to, std::size_t needed,
                        bool birth) {
  if (todo_[t].open) close(t);
  wanted_[t] = to;
  const auto& live = step_.tensor(t);
  if (lies_[t].serial == live.serial && lies_[t].tier == to) return;
  if (!todo_[t].open && std::find(open_.begin(), open_.end(), t) == open_.end())
    open_.push_back(t);
  todo_[t] = {true, birth, false, needed, 0};
}

// It was not moved in time.
void PlanFollower::close(std::uint32_t t) {
  todo_[t].open = false;
  ++(todo_[t].birth ? counts_.births_left : counts_.moves_missed);
}

bool PlanFollower::pays(std::uint32_t t, Nanos now) const {
  const auto& one = iteration_.tensor(t);
  if (one.wraps || one.dies >= iteration_.operators()) return true;
  const auto left = static_cast<double>(step_.expected(one.dies) - now);
  return left >= kLife * copy_ns(one.bytes) + lag_ns_;
}

std::vector<PlanFollower::Wish> PlanFollower::due(Nanos now) {
  std::vector<Wish> out;
  if (!in_force() || !step_.on_track() || !step_.plausible()) return out;
  for (std::size_t i = first_open_; i < applied_.size(); ++i) {
    if (later_than(now, i)) break;
    if (!applied_[i] && time_of(i) <= now) apply(i);
    if (applied_[i] && i == first_open_) ++first_open_;
  }
  std::erase_if(open_, [&](std::uint32_t t) { return !todo_[t].open; });
  for (const auto t : open_) {
    const auto& live = step_.tensor(t);
    if (live.serial == 0 || todo_[t].not_before > now) continue;
    if (todo_[t].birth && !pays(t, now)) {
      close(t);
      continue;
    }
    const bool known = lies_[t].serial == live.serial;
    out.push_back({t, live, wanted_[t], known ? lies_[t].tier : kNoTier});
  }
  std::stable_sort(out.begin(), out.end(), [&](const Wish& a, const Wish& b) {
    if (a.to != b.to) return a.to > b.to;
    return todo_[a.tensor].needed < todo_[b.tensor].needed;
  });
  return out;
}

std::optional<Nanos> PlanFollower::next_due() const {
  if (!in_force() || !step_.on_track() || !step_.plausible()) return {};
  std::optional<Nanos> out;
  const auto sooner = [&](Nanos at) {
    if (!out || at < *out) out = at;
  };
  for (std::size_t i = first_open_; i < applied_.size(); ++i) {
    if (out && later_than(*out, i)) break;
    if (!applied_[i]) sooner(time_of(i));
  }
  for (const auto t : open_) {
    if (todo_[t].open && step_.tensor(t).serial != 0) {
      sooner(todo_[t].not_before);
    }
  }
  return out;
}

void PlanFollower::done(const Wish& wish, Nanos now, Nanos took) {
  const auto t = wish.tensor;
  if (took > 0 && wish.live.bytes > 0) {
    const double each =
        static_cast<double>(took) / static_cast<double>(wish.live.bytes);
    ns_per_byte_ += kLearning * (each - ns_per_byte_);
  }
  lies_[t] = {wish.live.serial, wish.to};
  if (!todo_[t].open || wanted_[t] != wish.to) return;
  if (step_.tensor(t).serial != wish.live.serial) return;  // another by now
  todo_[t].open = false;
  if (todo_[t].waited) ++counts_.moves_waited;
  if (todo_[t].birth) {
    ++counts_.births_moved;
  } else {
    judged_.push_back({todo_[t].needed, now});
    judge(false);
  }
}

void PlanFollower::refused(const Wish& wish, Nanos now, bool again) {
  auto& todo = todo_[wish.tensor];
  if (!todo.open) return;
  if (step_.tensor(wish.tensor).serial != wish.live.serial) return;
  todo.waited = true;
  todo.not_before = now + kRetry;
  if (!again) close(wish.tensor);
}

void PlanFollower::judge(bool step_over) {
  std::erase_if(judged_, [&](const Judged& one) {
    auto began = step_.began(one.needed);
    if (step_over) began = step_.step_began();
    const bool passed = step_.position() > one.needed;
    if (!began && !passed) return false;
    const bool late = began ? *began < one.at : passed;
    ++(late ? counts_.moves_late : counts_.moves_ahead);
    return true;
  });
}

std::string PlanFollower::describe() const {
  switch (state_) {
    case State::kNoPlan: return "there is no plan yet";
    case State::kInForce: return "the plan is in force";
    case State::kLearning:
      return "the plan waits for " + std::to_string(needs_) +
             " steps in a row that match; seen " + std::to_string(alike_);
    case State::kDropped: return "the plan was dropped: " + why_;
  }
  return {};
}

std::vector<std::string> PlanFollower::news() {
  return std::exchange(news_, {});
}

std::optional<TierId> PlanFollower::wanted_at(Address address) const {
  if (!in_force()) return {};
  for (std::uint32_t t = 0; t < wanted_.size(); ++t) {
    const auto& live = step_.tensor(t);
    if (live.serial == 0 || wanted_[t] == kNoTier) continue;
    if (address >= live.address && address - live.address < live.bytes) {
      return wanted_[t];
    }
  }
  return {};
}

}  // namespace thermocline
