#include "policies/replayed_job.h"

#include <algorithm>
#include <utility>

namespace thermocline {

ReplayedJob::ReplayedJob(const Iteration& iteration, const Room& room,
                         std::function<TierId(std::uint32_t)> birth,
                         bool keeps_copies)
    : iteration_(iteration),
      birth_(std::move(birth)),
      keeps_copies_(keeps_copies),
      engine_(iteration.times(), room.copy_bytes_per_s),
      lives_(iteration.tensors()),
      tier_(iteration.tensors(), static_cast<TierId>(iteration.tiers() - 1)) {
  CHECK(room.capacity.size() == iteration.tiers());
  for (const Bytes capacity : room.capacity) {
    heaps_.emplace_back(capacity, room.alignment);
  }
  out_.births = tier_;
}

Status ReplayedJob::begin(std::span<const TierId> initial) {
  for (std::uint32_t t = 0; t < lives_.size(); ++t) {
    if (!iteration_.tensor(t).wraps) continue;
    if (auto ok = place(t, initial[t], 0); !ok) return ok;
  }
  return {};
}

void ReplayedJob::bury(std::size_t k) {
  for (const auto t : iteration_.op(k).dead) bury_one(t);
}

Status ReplayedJob::deliver(std::size_t k) {
  for (const auto t : iteration_.op(k).born) {
    if (auto ok = place(t, birth_(t), k); !ok) return ok;
  }
  return {};
}

Status ReplayedJob::place(std::uint32_t tensor, TierId wanted, std::size_t k) {
  const Bytes bytes = iteration_.tensor(tensor).bytes;
  const std::size_t tiers = heaps_.size();
  const std::size_t first = wanted == kNoTier ? 0 : wanted;
  // From there to slower ones, and only then to faster ones.
  for (std::size_t i = 0; i < tiers; ++i) {
    const auto tier =
        static_cast<TierId>(first + i < tiers ? first + i : tiers - 1 - i);
    const auto at = heaps_[tier].allocate(bytes);
    if (!at) {
      if (tier == wanted) {
        out_.unplaced.push_back({step_, k, tensor, tier, true});
      }
      continue;
    }
    lives_[tensor] = {true, false, *at, {}};
    tier_[tensor] = out_.births[tensor] = tier;
    return {};
  }
  return invalid("tensor " + std::to_string(tensor) + " of " +
                 std::to_string(bytes) +
                 " bytes fits into no tier at operator " + std::to_string(k) +
                 "; the job needs more memory than all tiers have");
}

void ReplayedJob::bury_one(std::uint32_t tensor) {
  Life& life = lives_[tensor];
  if (!life.alive) return;
  if (life.moving) {
    const auto copy =
        std::find_if(pending_.begin(), pending_.end(),
                     [&](const Pending& one) { return one.tensor == tensor; });
    drop(copy, /*no_room=*/false, 0);
  }
  forget(tensor);
  heaps_[tier_[tensor]].free(life.at);
  life.alive = false;
}

void ReplayedJob::queue(std::uint32_t tensor, TierId to,
                        std::optional<std::size_t> needed) {
  CHECK(alive(tensor) && !moving(tensor));
  if (tier_[tensor] == to) return;
  lives_[tensor].moving = true;
  queued_bytes_ += iteration_.tensor(tensor).bytes;
  pending_.push_back({tensor, tier_[tensor], to, needed, 0, 0, false, false});
}

// Whether it goes where its copy was kept, which takes no time.
bool ReplayedJob::returns(const Pending& copy) const {
  return lives_[copy.tensor].kept && copy.to + std::size_t{1} == heaps_.size();
}

void ReplayedJob::forget(std::uint32_t tensor) {
  auto& kept = lives_[tensor].kept;
  if (kept) heaps_.back().free(*kept);
  kept.reset();
}

bool ReplayedJob::begin_copy(Pending& copy, std::size_t k) {
  if (returns(copy)) {
    copy.at = *std::exchange(lives_[copy.tensor].kept, std::nullopt);
    copy.begun = copy.done = true;
    copy.began_at = k;
    return true;
  }
  const Bytes bytes = iteration_.tensor(copy.tensor).bytes;
  const auto at = heaps_[copy.to].allocate(bytes);
  if (!at) return false;
  copy.at = *at;
  copy.begun = true;
  copy.began_at = k;
  copied_ += bytes;
  engine_.begin(copy.tensor, copy.from, copy.to);
  return true;
}

void ReplayedJob::take_effect(const Pending& copy, std::size_t k) {
  Life& life = lives_[copy.tensor];
  if (keeps_copies_ && copy.from + std::size_t{1} == heaps_.size()) {
    life.kept = life.at;
  } else {
    heaps_[copy.from].free(life.at);
  }
  life.at = copy.at;
  life.moving = false;
  tier_[copy.tensor] = copy.to;
  queued_bytes_ -= iteration_.tensor(copy.tensor).bytes;
  out_.moves.push_back(
      {step_, copy.began_at, k, copy.tensor, copy.from, copy.to});
}

void ReplayedJob::drop(std::deque<Pending>::iterator copy, bool no_room,
                       std::size_t k) {
  if (copy->begun) {
    if (!copy->done) engine_.stop();
    heaps_[copy->to].free(copy->at);
  }
  if (no_room) {
    out_.unplaced.push_back({step_, k, copy->tensor, copy->to, false});
  }
  lives_[copy->tensor].moving = false;
  queued_bytes_ -= iteration_.tensor(copy->tensor).bytes;
  pending_.erase(copy);
}

void ReplayedJob::wait_for(std::size_t k) {
  while (!pending_.empty()) {
    Pending& copy = pending_.front();
    if (!copy.needed || *copy.needed > k) return;
    if (!copy.begun && !begin_copy(copy, k)) {
      drop(pending_.begin(), /*no_room=*/true, k);
      continue;
    }
    if (!copy.done) waited_ns_ += engine_.finish();
    take_effect(copy, k);
    pending_.pop_front();
  }
}

double ReplayedJob::run_operator(std::size_t k) {
  const double ns = iteration_.times().operator_ns(k, tier_);
  operators_ns_ += ns;
  for (const auto t : iteration_.op(k).writes) forget(t);
  double unused = 1;
  for (std::size_t i = 0; i < pending_.size();) {
    Pending& copy = pending_[i];
    // One that is free waits: what it returns to may be written until then.
    if (copy.done || (!copy.begun && returns(copy))) {
      ++i;
      continue;
    }
    if (!copy.begun && !begin_copy(copy, k)) {
      // A hole may yet come while nobody needs it.
      if (copy.needed) break;
      drop(pending_.begin() + static_cast<std::ptrdiff_t>(i), true, k);
      continue;
    }
    engine_.advance(k, tier_, ns, unused);
    if (engine_.busy()) break;
    copy.done = true;
    if (copy.needed) {
      ++i;
      continue;
    }
    take_effect(copy, k + 1);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ns;
}

void ReplayedJob::end_step() {
  for (std::uint32_t t = 0; t < lives_.size(); ++t) {
    const auto& one = iteration_.tensor(t);
    if (!one.wraps && one.dies == iteration_.operators()) bury_one(t);
  }
  out_.steps_ns.push_back(iteration_.times().job_ns(operators_ns_) +
                          waited_ns_);
  out_.copied_by_step.push_back(copied_);
  out_.waited_ns += waited_ns_;
  out_.copied += copied_;
  operators_ns_ = waited_ns_ = 0;
  copied_ = 0;
  ++step_;
  out_.most_used.clear();
  out_.extent.clear();
  for (const TierHeap& heap : heaps_) {
    out_.most_used.push_back(heap.most_used());
    out_.extent.push_back(heap.extent());
  }
}

}  // namespace thermocline
