#include "estimator/neighbours.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Bytes kNeighbours = 64;

}  // namespace

std::vector<std::vector<ObjectId>> neighbours(std::span<const Region> regions,
                                              std::vector<ObjectId> objects,
                                              Bytes bytes) {
  std::sort(objects.begin(), objects.end(), [&](ObjectId a, ObjectId b) {
    return regions[a].start < regions[b].start;
  });
  std::vector<std::vector<ObjectId>> out;
  for (const ObjectId object : objects) {
    if (out.empty() ||
        regions[object].start - regions[out.back().front()].start >=
            kNeighbours * bytes) {
      out.emplace_back();
    }
    out.back().push_back(object);
  }
  return out;
}

}  // namespace thermocline
