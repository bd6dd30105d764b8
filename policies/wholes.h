// Wholes: what is decided of regions that move as one.
//
// A huge page's regions move together, but they are not alike: what comes next
// is foreseen region by region, and where it is to lie is decided of the whole
// (View::parts).
//
// Thread safety: pure functions. Where no object has parts they change nothing.
// Cost: O(objects).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "estimator/view.h"

namespace thermocline {

/// Makes wholes of parts, each under the number that `whole` has for its parts:
/// View::objects of View::parts.
inline void join_parts(std::span<ObjectView> objects,
                       std::span<const ObjectId> whole) {
  for (ObjectId id = 0; id < whole.size(); ++id) {
    if (whole[id] == id) continue;
    const ObjectView part = std::exchange(
        objects[id], {.id = id, .tier = objects[id].tier, .movable = false});
    ObjectView& all = objects[whole[id]];
    all.bytes += part.bytes;
    all.loads += part.loads;
    all.stores += part.stores;
    all.waited += part.waited;
    all.movable = all.movable && part.movable;
    const bool last =
        part.after >= whole.size() || whole[part.after] != whole[id];
    if (last) all.after = part.after;
  }
}

/// The view of its parts, as if each moved alone.
inline View apart(View view) {
  if (!view.parts.empty()) view.objects = view.parts;
  view.parts = {};
  view.whole = {};
  return view;
}

/// Scores a byte (packing.h) of parts: of wholes, their mean by bytes.
inline void join_scores(const View& view, std::vector<double>& score) {
  if (view.parts.empty()) return;
  const auto bytes_of = [](const ObjectView& one) {
    return static_cast<double>(one.bytes);
  };
  for (const ObjectView& part : view.parts) {
    score[part.id] *= bytes_of(part);
  }
  for (const ObjectView& part : view.parts) {
    const ObjectId whole = view.whole[part.id];
    if (whole == part.id) continue;
    score[whole] += std::exchange(score[part.id], 0);
  }
  for (const ObjectView& one : view.objects) {
    if (one.bytes > 0) score[one.id] /= bytes_of(one);
  }
}

/// The moves of wholes, part by part.
inline std::vector<Move> part_moves(const View& view, std::vector<Move> moves) {
  if (view.parts.empty() || moves.empty()) return moves;
  std::vector<const Move*> of(view.objects.size(), nullptr);
  for (const Move& move : moves) of[move.object] = &move;
  std::vector<Move> out;
  for (const ObjectView& part : view.parts) {
    const Move* const move = of[view.whole[part.id]];
    if (move != nullptr) out.push_back({part.id, move->from, move->to});
  }
  return out;
}

}  // namespace thermocline
