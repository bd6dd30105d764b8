#include "daemon/plan_room.h"

#include <algorithm>

namespace thermocline {

std::vector<Move> make_room(std::span<const ObjectView> objects,
                            std::span<const double> accesses, Bytes lacking,
                            TierId to,
                            const std::function<bool(ObjectId)>& planned) {
  double all = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    all += accesses[i];
    bytes += static_cast<double>(objects[i].bytes);
  }
  if (all <= 0) return {};
  const auto density = [&](ObjectId id) {
    return accesses[id] / static_cast<double>(objects[id].bytes);
  };
  std::vector<ObjectId> cold;
  for (const ObjectView& one : objects) {
    if (one.tier != 0 || one.bytes == 0 || !one.movable) continue;
    if (density(one.id) * bytes <= kColdShare * all && !planned(one.id)) {
      cold.push_back(one.id);
    }
  }
  std::stable_sort(cold.begin(), cold.end(), [&](ObjectId a, ObjectId b) {
    return density(a) < density(b);
  });
  std::vector<Move> out;
  Bytes made = 0;
  for (const ObjectId id : cold) {
    if (made >= lacking) break;
    out.push_back({id, 0, to});
    made += objects[id].bytes;
  }
  return out;
}

}  // namespace thermocline
