#include "daemon/evaluate_moves.h"

#include <algorithm>

namespace thermocline {
namespace {

using Part = FollowedMoves::Part;

// Joins neighbours until there are few enough.
std::vector<Part> joined(std::vector<Part> parts) {
  const std::size_t most = FollowedMoves::kParts;
  if (parts.size() <= most) return parts;
  std::vector<Part> out(most);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& into = out[i * most / parts.size()];
    into.fast_bytes = std::max(into.fast_bytes, parts[i].fast_bytes);
    into.to_fast_bytes += parts[i].to_fast_bytes;
    into.from_fast_bytes += parts[i].from_fast_bytes;
  }
  return out;
}

void add_move(TierId from, TierId to, double bytes, Part& part) {
  if (to == 0) part.to_fast_bytes += bytes;
  if (from == 0) part.from_fast_bytes += bytes;
}

// Where the tensors lie when the last step begins: one that wraps lies where
// it was moved since its birth, late in the step before.
std::vector<TierId> at_last_step(const Iteration& step, const Replayed& out,
                                 std::size_t last) {
  std::vector<TierId> tier = out.births;
  for (const Moved& move : out.moves) {
    const auto& tensor = step.tensor(move.tensor);
    const bool since_birth = tensor.persistent || (move.step + 1 == last &&
                                                   move.in_force > tensor.born);
    if (move.step < last && tensor.wraps && since_birth) {
      tier[move.tensor] = move.to;
    }
  }
  return tier;
}

}  // namespace

Played follow(const World& world, const Episode& episode, const Decide& decide,
              FollowedMoves& out) {
  Environment environment(world, episode);
  out = {};
  out.schedule.placement.assign(world.bytes.size(),
                                static_cast<TierId>(world.tiers.size() - 1));
  std::vector<bool> met(world.bytes.size(), false);
  const auto look = [&](const View& view) {
    for (const ObjectView& object : view.objects) {
      if (object.bytes == 0 || met[object.id]) continue;
      met[object.id] = true;
      out.schedule.placement[object.id] = object.tier;
    }
    Part part;
    part.fast_bytes = static_cast<double>(view.tiers.front().used);
    out.parts.push_back(part);
  };
  look(environment.view());
  for (std::size_t window = 1; !environment.done(); ++window) {
    const auto moves =
        decide ? decide(environment.view()) : std::vector<Move>();
    Part moved;
    for (const Move& move : moves) {
      const auto bytes =
          static_cast<double>(environment.view().objects[move.object].bytes);
      add_move(move.from, move.to, bytes, moved);
      out.schedule.moves.push_back({window, move.object, move.to});
    }
    environment.step(moves);
    look(environment.view());
    out.parts.back().to_fast_bytes = moved.to_fast_bytes;
    out.parts.back().from_fast_bytes = moved.from_fast_bytes;
  }
  out.parts = joined(std::move(out.parts));
  return {"", environment.time_ns(), environment.moved_bytes(), 0};
}

FollowedMoves follow(const Iteration& step, const Replayed& replayed) {
  const std::size_t last = replayed.steps_ns.size() - 1;
  std::vector<TierId> tier = at_last_step(step, replayed, last);
  double fast = 0;
  const auto bytes = [&](std::uint32_t t) {
    return static_cast<double>(step.tensor(t).bytes);
  };
  const auto place = [&](std::uint32_t t, TierId to) {
    fast += (to == 0 ? bytes(t) : 0) - (tier[t] == 0 ? bytes(t) : 0);
    tier[t] = to;
  };
  std::vector<bool> alive(step.tensors(), false);
  for (std::uint32_t t = 0; t < step.tensors(); ++t) {
    alive[t] = step.tensor(t).wraps;
    if (alive[t] && tier[t] == 0) fast += bytes(t);
  }
  auto move = std::find_if(replayed.moves.begin(), replayed.moves.end(),
                           [&](const Moved& one) { return one.step == last; });
  std::vector<Part> parts(step.operators());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto& op = step.op(k);
    for (const auto t : op.dead) {
      if (tier[t] == 0) fast -= bytes(t);
      alive[t] = false;
    }
    for (; move != replayed.moves.end() && move->in_force <= k; ++move) {
      if (alive[move->tensor]) place(move->tensor, move->to);
      add_move(move->from, move->to, bytes(move->tensor), parts[k]);
    }
    for (const auto t : op.born) {
      tier[t] = replayed.births[t];
      if (tier[t] == 0) fast += bytes(t);
      alive[t] = true;
    }
    parts[k].fast_bytes = fast;
  }
  for (; move != replayed.moves.end(); ++move) {  // by the step's end
    add_move(move->from, move->to, bytes(move->tensor), parts.back());
  }
  FollowedMoves out;
  out.parts = joined(std::move(parts));
  return out;
}

}  // namespace thermocline
