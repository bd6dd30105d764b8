#include "daemon/guards.h"

#include <algorithm>
#include <limits>

namespace thermocline {
namespace {

constexpr int kMostDoublings = 6;

}  // namespace

const char* refusal_name(Refusal why) {
  switch (why) {
    case Refusal::kNone: return "none";
    case Refusal::kInvalid: return "invalid";
    case Refusal::kStale: return "stale";
    case Refusal::kUnmovable: return "unmovable";
    case Refusal::kCapacity: return "capacity";
    case Refusal::kBudget: return "budget";
    case Refusal::kResidence: return "residence";
    case Refusal::kPingPong: return "ping_pong";
    case Refusal::kInFlight: return "in_flight";
    case Refusal::kPressure: return "pressure";
    case Refusal::kOomMargin: return "oom_margin";
    case Refusal::kSlowdown: return "slowdown";
    case Refusal::kThrashing: return "thrashing";
    case Refusal::kNoPayback: return "no_payback";
    case Refusal::kNeedless: return "needless";
  }
  return "unknown";
}

Refusal Guards::bouncing(const State& state, const Move& move,
                         std::int64_t window) const {
  if (state.moved_at < 0 || move.to != state.came_from) return Refusal::kNone;
  const auto stayed = window - state.moved_at;
  if (options_.residence_holds && stayed < options_.residence) {
    return Refusal::kResidence;
  }
  if (options_.ping_pong_holds && state.bounces > 0 &&
      stayed < options_.residence << state.bounces) {
    return Refusal::kPingPong;
  }
  return Refusal::kNone;
}

Refusal Guards::barred(const View& view, const Move& move, Bytes bytes) const {
  const auto& object = view.objects[move.object];
  if (object.tier != move.from) return Refusal::kStale;
  if (!object.movable || object.bytes == 0) return Refusal::kUnmovable;
  const auto bounce = bouncing(states_[move.object], move, view.window);
  if (bounce != Refusal::kNone) return bounce;
  return payback_.worth(move, bytes, view.tiers) ? Refusal::kNone
                                                 : Refusal::kNoPayback;
}

Refusal Guards::judge(const View& view, const Wish& wish,
                      const std::vector<Bytes>& used, Bytes budget) {
  if (wish.barred != Refusal::kNone) return wish.barred;
  const TierId to = wish.move.to;
  if (used[to] + wish.bytes > view.tiers[to].capacity) {
    return Refusal::kCapacity;
  }
  return wish.bytes > budget ? Refusal::kBudget : Refusal::kNone;
}

// By tier, the bytes that demotions are to free: what they would, less what is
// barred from coming in their place.
std::vector<Bytes> Guards::to_leave(std::size_t tiers,
                                    const std::vector<Wish>& wishes) {
  std::vector<Bytes> leave(tiers, 0);
  std::vector<Bytes> stay(tiers, 0);
  for (const auto& wish : wishes) {
    const bool barred = wish.barred != Refusal::kNone;
    if (wish.demotion() && !barred) leave[wish.move.from] += wish.bytes;
    if (!wish.demotion() && barred) stay[wish.move.to] += wish.bytes;
  }
  for (std::size_t t = 0; t < tiers; ++t) {
    leave[t] -= std::min(leave[t], stay[t]);
  }
  return leave;
}

std::vector<Move> Guards::admit(const View& view,
                                const std::vector<Move>& moves,
                                const BytesToMove& bytes_to_move,
                                Refusal hold) {
  states_.resize(std::max(states_.size(), view.objects.size()));
  std::vector<Bytes> used;
  for (const auto& tier : view.tiers) used.push_back(tier.used);
  Bytes budget = view.budget;
  std::vector<bool> named(view.objects.size(), false);
  std::vector<Wish> wishes;
  for (const auto& move : moves) {
    const bool sound = move.object < view.objects.size() &&
                       move.to < view.tiers.size() && move.from != move.to &&
                       !named[move.object];
    if (sound) {
      named[move.object] = true;
      const Bytes bytes = bytes_to_move(move.object, move.to);
      wishes.push_back({move, bytes, barred(view, move, bytes)});
    } else {
      ++refused_[static_cast<std::size_t>(Refusal::kInvalid)];
    }
  }
  std::stable_partition(wishes.begin(), wishes.end(),
                        [](const Wish& wish) { return wish.demotion(); });
  auto leave = to_leave(view.tiers.size(), wishes);
  std::vector<Move> out;
  for (const auto& wish : wishes) {
    const Move& move = wish.move;
    const Bytes bytes = wish.bytes;
    const bool owed = wish.demotion() && hold != Refusal::kInFlight &&
                      used[move.from] > view.tiers[move.from].capacity;
    auto why = hold != Refusal::kNone && !owed
                   ? hold
                   : judge(view, wish, used, budget);
    const bool needed = !wish.demotion() || owed || leave[move.from] > 0;
    if (why == Refusal::kNone && !needed && options_.needless) {
      why = Refusal::kNeedless;
    }
    if (why != Refusal::kNone) {
      ++refused_[static_cast<std::size_t>(why)];
      states_[move.object].refusal = why;
      states_[move.object].refused_at = view.window;
      continue;
    }
    used[move.to] += bytes;
    used[move.from] -= std::min(used[move.from], bytes);
    if (wish.demotion()) leave[move.from] -= std::min(leave[move.from], bytes);
    budget -= bytes;
    out.push_back(move);
  }
  return out;
}

bool Guards::returns(const Move& move, std::int64_t window,
                     std::int64_t windows) const {
  if (move.object >= states_.size()) return false;
  const auto& state = states_[move.object];
  return state.moved_at >= 0 && move.to == state.came_from &&
         window - state.moved_at <= windows;
}

void Guards::moved(const Move& move, std::int64_t window, bool paid) {
  states_.resize(std::max<std::size_t>(states_.size(), move.object + 1));
  auto& state = states_[move.object];
  const bool back = state.moved_at >= 0 && move.to == state.came_from;
  if (move.to > move.from) {
    state.paid = paid;
  } else {
    payback_.came(move.object);
  }
  if (back) {
    // Back within eight times the least stay is a bounce, unless it was worth
    // it; later is a change of the job's mind.
    const auto soon = (options_.residence << state.bounces) * 8;
    const bool bounced = window - state.moved_at < soon;
    const auto more = std::min<int>(state.bounces + 1, kMostDoublings);
    state.bounces =
        bounced && !state.paid ? static_cast<std::uint8_t>(more) : 0;
  }
  state.moved_at = window;
  state.came_from = move.from;
  state.failures = 0;
  state.refusal = Refusal::kNone;
}

void Guards::failed(ObjectId object, std::int64_t window) {
  states_.resize(std::max<std::size_t>(states_.size(), object + 1));
  auto& state = states_[object];
  state.rest_until = window + (options_.failures_wait << state.failures);
  state.failures = static_cast<std::uint8_t>(
      std::min<int>(state.failures + 1, kMostDoublings));
}

bool Guards::resting(ObjectId object, std::int64_t window) const {
  return object < states_.size() && window < states_[object].rest_until;
}

std::optional<Guards::LastMove> Guards::last_move(ObjectId object) const {
  if (object >= states_.size() || states_[object].moved_at < 0) return {};
  return LastMove{states_[object].moved_at, states_[object].came_from};
}

Guards::Memory Guards::memory(ObjectId object, std::int64_t window) const {
  Memory out;
  if (object >= states_.size()) return out;
  const auto& state = states_[object];
  const auto bounded = [](std::int64_t windows) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(windows, 0, kMost));
  };
  if (state.moved_at >= 0) out.moved_ago = bounded(window - state.moved_at);
  out.rest = bounded(state.rest_until - window);
  out.came_from = state.came_from;
  out.bounces = state.bounces;
  out.failures = state.failures;
  return out;
}

void Guards::recall(ObjectId object, const Memory& memory,
                    std::int64_t window) {
  states_.resize(std::max<std::size_t>(states_.size(), object + 1));
  auto& state = states_[object];
  const bool moved = memory.moved_ago >= 0 && memory.moved_ago <= window;
  state.moved_at = moved ? window - memory.moved_ago : -1;
  state.rest_until = window + memory.rest;
  state.came_from = memory.came_from;
  state.bounces = std::min<std::uint8_t>(memory.bounces, kMostDoublings);
  state.failures = std::min<std::uint8_t>(memory.failures, kMostDoublings);
}

std::string Guards::last_refusal(ObjectId object) const {
  if (object >= states_.size()) return {};
  const auto& state = states_[object];
  if (state.refusal == Refusal::kNone) return {};
  return "its last wanted move, in window " + std::to_string(state.refused_at) +
         ", was refused: " + refusal_name(state.refusal);
}

}  // namespace thermocline
