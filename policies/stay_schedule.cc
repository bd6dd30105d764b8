#include "policies/stay_schedule.h"

#include <algorithm>

namespace thermocline {

StaySchedule::StaySchedule(const Iteration& iteration, const Room& room,
                           Bytes bytes, Costs costs)
    : iteration_(iteration),
      ledger_(iteration, room, bytes),
      costs_(costs),
      slow_(static_cast<TierId>(iteration.tiers() - 1)),
      slow_bytes_(room.capacity.back()),
      lives_(iteration.tensors()) {
  const std::size_t n = iteration.operators();
  for (std::size_t t = 0; t < lives_.size(); ++t) {
    const auto& one = iteration.tensor(t);
    Life& life = lives_[t];
    life.begin = one.persistent ? one.first_use() : one.born;
    life.end = one.persistent ? life.begin + n
               : one.wraps    ? n + one.dies
                              : one.dies;
    for (const auto& use : one.uses) {
      life.at.push_back(use.op < life.begin ? use.op + n : use.op);
    }
    life.fast.assign(life.at.size(), false);
    life.gaps.resize(life.at.size() + (one.persistent ? 0 : 1));
  }
  ledger_.set_times([](std::size_t, std::size_t) { return TierId{0}; });
}

void StaySchedule::expect(const StaySchedule& other) {
  ledger_.set_times([&](std::size_t k, std::size_t t) {
    const auto& uses = iteration_.tensor(t).uses;
    for (std::size_t u = 0; u < uses.size(); ++u) {
      if (uses[u].op == k) return other.lives_[t].fast[u] ? TierId{0} : slow_;
    }
    return slow_;
  });
}

void StaySchedule::offer(std::span<const Offer> offers, Decider& decider) {
  for (const Offer& one : offers) consider(one, decider);
}

StaySchedule::Borders StaySchedule::borders(std::uint32_t t,
                                            std::size_t gap) const {
  const Life& life = lives_[t];
  const std::size_t uses = life.at.size();
  Borders out;
  if (persistent(t)) {
    const std::size_t last = gap == 0 ? uses - 1 : gap - 1;
    out.from = life.at[last] + 1;
    out.to = gap == 0 ? life.at[0] + ledger_.operators() : life.at[gap];
    out.fast_before = life.fast[last];
    out.fast_after = life.fast[gap];
    return out;
  }
  out.born = gap == 0;
  out.dies = gap == uses;
  out.from = out.born ? life.begin : life.at[gap - 1] + 1;
  out.to = out.dies ? life.end : life.at[gap];
  // Where there is no use, it is as at the other border.
  out.fast_before = out.born ? life.fast[gap] : life.fast[gap - 1];
  out.fast_after = out.dies ? life.fast[gap - 1] : life.fast[gap];
  return out;
}

// Alone a use may not be worth its copies; together with the uses beside it, or
// with all of them, it needs fewer.
void StaySchedule::consider(const Offer& offer, Decider& decider) {
  const std::size_t uses = lives_[offer.tensor].at.size();
  if (lives_[offer.tensor].fast[offer.use]) return;
  const std::size_t u = offer.use;
  const bool ring = persistent(offer.tensor);
  const bool next = u + 1 < uses || (ring && uses > 1);
  const bool last = u > 0 || (ring && uses > 1);
  const std::size_t before = (u + uses - 1) % uses;
  if (try_run(offer, u, 1, decider)) return;
  if (next && try_run(offer, u, 2, decider)) return;
  if (last && try_run(offer, before, 2, decider)) return;
  if (next && last && uses > 2 && try_run(offer, before, 3, decider)) return;
  if (uses > 2) try_run(offer, 0, uses, decider);
}

bool StaySchedule::try_run(const Offer& offer, std::size_t first,
                           std::size_t count, Decider& decider) {
  const std::uint32_t t = offer.tensor;
  Life& life = lives_[t];
  const std::size_t uses = life.at.size();
  std::vector<std::size_t> slow;  // that become fast
  std::vector<std::size_t> gaps;  // beside those
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t u = (first + i) % uses;
    if (life.fast[u]) continue;
    if (!ledger_.fits({life.at[u], life.at[u] + 1, false}, bytes(t))) {
      return false;
    }
    slow.push_back(u);
    for (const std::size_t g : {u, (u + 1) % life.gaps.size()}) {
      if (std::find(gaps.begin(), gaps.end(), g) == gaps.end()) {
        gaps.push_back(g);
      }
    }
  }
  std::vector<Gap> old;
  double more = 0;
  double gain = 0;
  for (const std::size_t g : gaps) {
    more -= cost(life.gaps[g]);
    undo(t, life.gaps[g]);
    old.push_back(std::move(life.gaps[g]));
    life.gaps[g] = {};
  }
  const Bytes left = ledger_.left(life.at[offer.use]);
  for (const std::size_t u : slow) {
    ledger_.take({life.at[u], life.at[u] + 1, false}, bytes(t));
    life.fast[u] = true;
    gain += std::max(0.0, iteration_.tensor(t).uses[u].penalty_ns[slow_]);
  }
  bool done = true;
  for (const std::size_t g : gaps) {
    done = done && realise(t, g);
    more += cost(life.gaps[g]);
  }
  if (done) {
    const std::size_t op = iteration_.tensor(t).uses[offer.use].op;
    const Bytes live = iteration_.live_bytes(op);
    if (decider.moves({bytes(t), false, offer.heat, gain, more, left,
                       slow_bytes_ > live ? slow_bytes_ - live : 0})) {
      return true;
    }
  }
  for (const std::size_t g : gaps) undo(t, life.gaps[g]);
  for (const std::size_t u : slow) {
    ledger_.give_back({life.at[u], life.at[u] + 1, false}, bytes(t));
    life.fast[u] = false;
  }
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    life.gaps[gaps[i]] = std::move(old[i]);
    redo(t, life.gaps[gaps[i]]);
  }
  return false;
}

// What the gap's borders ask for. False when there is no room for that; what
// was booked until then is in the gap, to be undone.
bool StaySchedule::realise(std::uint32_t t, std::size_t g) {
  const Borders at = borders(t, g);
  Gap& gap = lives_[t].gaps[g];
  if (!at.fast_before && !at.fast_after) return true;
  if (at.fast_before && at.fast_after) {
    if (stay(t, at, gap)) return true;
    if (at.born) return come(t, at, at.from + 1, gap);
    if (at.dies) return go(t, at, gap);
    return go(t, at, gap) && come(t, at, gap.out->needed, gap);
  }
  return at.fast_before ? go(t, at, gap) : come(t, at, at.from, gap);
}

bool StaySchedule::stay(std::uint32_t t, const Borders& at, Gap& gap) {
  const std::size_t n = ledger_.operators();
  const CopyLedger::Hold hold{at.from, at.to, at.from <= n && n <= at.to};
  if (!ledger_.fits(hold, bytes(t))) return false;
  ledger_.take(hold, bytes(t));
  gap.stays = hold;
  return true;
}

bool StaySchedule::keep(std::uint32_t t, Trip trip, std::optional<Trip>& out) {
  if (!ledger_.fits(trip.hold, bytes(t))) {
    ledger_.cancel(trip.booking);
    return false;
  }
  ledger_.take(trip.hold, bytes(t));
  out = std::move(trip);
  return true;
}

// A copy lies on one side of the step's end; where both are possible, the side
// on which the job waits less.
bool StaySchedule::go(std::uint32_t t, const Borders& at, Gap& gap) {
  const std::size_t n = ledger_.operators();
  // At its death it need not be anywhere.
  const std::size_t latest =
      persistent(t) ? at.to : std::min(at.to, lives_[t].end - 1);
  if (latest < at.from) return false;
  std::optional<Trip> tail;
  if (at.from < n) {
    Trip trip{at.from, 0, false, {}, {}};
    trip.needed =
        ledger_.book_out(t, at.from, std::min(latest, n), trip.booking);
    trip.hold = {at.from, trip.needed, false};
    if (trip.booking.exposed_ns <= 0 || latest <= n) {
      return keep(t, std::move(trip), gap.out);
    }
    ledger_.cancel(trip.booking);
    tail = std::move(trip);
  }
  Trip trip{std::max(at.from, n), 0, true, {}, {}};
  trip.needed = ledger_.book_out(t, trip.start, latest, trip.booking);
  trip.hold = {at.from, trip.needed, at.from <= n};
  const bool worse =
      tail && tail->booking.exposed_ns <= trip.booking.exposed_ns;
  if (!worse && keep(t, trip, gap.out)) return true;
  if (worse) ledger_.cancel(trip.booking);
  if (!tail) return false;
  ledger_.book_again(tail->booking);
  return keep(t, *std::move(tail), gap.out);
}

bool StaySchedule::come(std::uint32_t t, const Borders& at, std::size_t from,
                        Gap& gap) {
  const std::size_t n = ledger_.operators();
  if (at.to < from) return false;
  std::optional<Trip> head;
  if (at.to > n) {
    Trip trip{0, at.to, true, {}, {}};
    trip.start = ledger_.book_in(t, std::max(from, n), at.to, trip.booking);
    trip.hold = {trip.start, at.to, false};
    if (trip.booking.exposed_ns <= 0 || from > n) {
      return keep(t, std::move(trip), gap.in);
    }
    ledger_.cancel(trip.booking);
    head = std::move(trip);
  }
  const std::size_t needed = std::min(at.to, n);
  Trip trip{0, needed, false, {}, {}};
  trip.start = ledger_.book_in(t, from, needed, trip.booking);
  trip.hold = {trip.start, at.to, at.to >= n};
  const bool worse =
      head && head->booking.exposed_ns <= trip.booking.exposed_ns;
  if (!worse && keep(t, trip, gap.in)) return true;
  if (worse) ledger_.cancel(trip.booking);
  if (!head) return false;
  ledger_.book_again(head->booking);
  return keep(t, *std::move(head), gap.in);
}

void StaySchedule::undo(std::uint32_t t, const Gap& gap) {
  if (gap.stays) ledger_.give_back(*gap.stays, bytes(t));
  for (const auto* trip : {&gap.out, &gap.in}) {
    if (!*trip) continue;
    ledger_.give_back((*trip)->hold, bytes(t));
    ledger_.cancel((*trip)->booking);
  }
}

void StaySchedule::redo(std::uint32_t t, const Gap& gap) {
  if (gap.stays) ledger_.take(*gap.stays, bytes(t));
  for (const auto* trip : {&gap.out, &gap.in}) {
    if (!*trip) continue;
    ledger_.take((*trip)->hold, bytes(t));
    ledger_.book_again((*trip)->booking);
  }
}

double StaySchedule::cost(const Gap& gap) const {
  double out = 0;
  for (const auto* trip : {&gap.out, &gap.in}) {
    if (!*trip) continue;
    const auto& booking = (*trip)->booking;
    out += booking.exposed_ns + costs_.extent_ns +
           costs_.interference * (booking.copy_ns - booking.exposed_ns);
  }
  return out;
}

void StaySchedule::spread() {
  struct Place {
    std::uint32_t tensor = 0;
    std::size_t gap = 0;
  };
  std::vector<Place> in;
  std::vector<Place> out;
  for (std::uint32_t t = 0; t < lives_.size(); ++t) {
    for (std::size_t g = 0; g < lives_[t].gaps.size(); ++g) {
      if (lives_[t].gaps[g].in) in.push_back({t, g});
      if (lives_[t].gaps[g].out) out.push_back({t, g});
    }
  }
  const std::size_t n = ledger_.operators();
  for (const Place& one : in) {
    const Borders at = borders(one.tensor, one.gap);
    Gap& gap = lives_[one.tensor].gaps[one.gap];
    std::size_t least = at.born ? at.from + 1 : at.from;
    if (gap.out) least = gap.out->needed;
    if (gap.in->head) least = std::max(least, n);
    while (gap.in->start > least) {
      const std::size_t p = gap.in->start - 1;
      if (!ledger_.fits({p, p + 1, false}, bytes(one.tensor))) break;
      ledger_.take({p, p + 1, false}, bytes(one.tensor));
      gap.in->start = gap.in->hold.from = p;
    }
  }
  for (const Place& one : out) {
    const Borders at = borders(one.tensor, one.gap);
    Gap& gap = lives_[one.tensor].gaps[one.gap];
    std::size_t most = at.to;
    if (!persistent(one.tensor)) {
      most = std::min(most, lives_[one.tensor].end - 1);
    }
    if (gap.in) most = std::min(most, gap.in->start);
    if (!gap.out->head) most = std::min(most, n);
    while (gap.out->needed < most) {
      const std::size_t p = gap.out->needed;
      if (!ledger_.fits({p, p + 1, false}, bytes(one.tensor))) break;
      ledger_.take({p, p + 1, false}, bytes(one.tensor));
      gap.out->needed = gap.out->hold.to = p + 1;
    }
  }
}

// Of a persistent tensor.
bool StaySchedule::fast_between_steps(std::uint32_t t) const {
  const Life& life = lives_[t];
  if (life.gaps.empty()) return false;
  const Gap& gap = life.gaps[0];
  if (gap.stays) return true;
  if (gap.in && !gap.in->head) return true;
  return gap.out && gap.out->head;
}

Plan StaySchedule::plan() const {
  Plan out;
  std::vector<Copy> in;
  const std::size_t n = ledger_.operators();
  for (std::uint32_t t = 0; t < lives_.size(); ++t) {
    const Life& life = lives_[t];
    const bool fast = persistent(t) ? fast_between_steps(t)
                                    : life.gaps.front().stays.has_value();
    out.birth.push_back(fast ? TierId{0} : slow_);
    const auto copy = [&](const Trip& trip, TierId to) {
      const std::size_t less = trip.head ? n : 0;
      return Copy{t, to, trip.start - less, trip.needed - less};
    };
    for (const Gap& gap : life.gaps) {
      if (gap.out) out.moves.push_back(copy(*gap.out, slow_));
      if (gap.in) in.push_back(copy(*gap.in, 0));
    }
  }
  // At one operator, room is made before it is taken.
  out.moves.insert(out.moves.end(), in.begin(), in.end());
  put_in_order(out.moves);
  return out;
}

}  // namespace thermocline
