// shortest_paths: routes on a map of roads, by Dijkstra's algorithm (1959) with
// a binary heap.
//
// Junctions are on a grid, of whose streets many are missing, as in a maze;
// main roads and highways are faster. They are numbered by districts, and
// within one in no order, as in most maps. A search goes from one junction of a
// region to another, until that is settled; labels of former searches are known
// by their numbers. Requests come from one region for a while, then from
// another.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kSearches = 2;   // in a step
constexpr std::uint64_t kPhase = 4;      // steps in one region
constexpr std::size_t kRegions = 4;      // of the map, to either direction
constexpr std::uint64_t kNext = 5;       // regions from one to the next
constexpr std::size_t kDistrict = 32;    // junctions, to either direction
constexpr std::size_t kMain = 16;        // lines from one main road to another,
constexpr std::size_t kHighway = 128;    // and from highway to highway
constexpr std::uint32_t kMainSpeed = 2;  // to other streets
constexpr std::uint32_t kHighwaySpeed = 4;  // likewise
constexpr std::uint32_t kShortest =
    200;  // time on a street; the longest is twice that
constexpr std::uint64_t kOften = 10;   // of so many junctions,
constexpr std::uint64_t kMissing = 6;  // so many have lost a street
constexpr std::size_t kHeapShare = 8;  // of junctions are in the heap

struct Arc {
  std::uint32_t head = 0;
  std::uint32_t time = 0;
};

struct Entry {
  std::uint32_t time = 0;
  std::uint32_t junction = 0;
};

class ShortestPaths final : public Workload {
 public:
  explicit ShortestPaths(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    // Two streets to a junction, less those missing, both ways.
    const std::size_t arcs = sizeof(Arc) * 2 * (2 * kOften - kMissing) / kOften;
    const std::size_t each =
        arcs + 5 * sizeof(std::uint32_t) + sizeof(Entry) / kHeapShare;
    const std::size_t n = settings_.bytes / each;
    const auto root =
        static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
    width_ = root / kDistrict * kDistrict;
    height_ = n / width_ / kDistrict * kDistrict;
    make_map();
    times_.resize(width_ * height_);
    parents_.resize(times_.size());
    searches_.resize(times_.size());
    places_.resize(times_.size());
    heap_.resize(times_.size() / kHeapShare);
  }

  std::vector<Array> arrays() const override {
    return {array_of("begin", begin_),       array_of("arcs", arcs_),
            array_of("times", times_),       array_of("parents", parents_),
            array_of("searches", searches_), array_of("places", places_),
            array_of("heap", heap_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::uint64_t region = mix(settings_.seed) + kNext * (index / kPhase);
    const std::size_t left = region % kRegions * width_ / kRegions;
    const std::size_t top = region / kRegions % kRegions * height_ / kRegions;
    Random random(settings_.seed, index);
    const auto any = [&] {
      const std::size_t x = left + random.below(width_ / kRegions);
      return number(x, top + random.below(height_ / kRegions));
    };
    Digest digest;
    for (std::uint64_t i = 0; i < kSearches; ++i) {
      source_ = any();
      target_ = any();
      search();
      digest.add(times_[target_]);
      for (auto at = target_; at != source_; at = parents_[at]) digest.add(at);
    }
    return digest.value();
  }

  // The last search: each time is that of the parent and the street from there,
  // so that no route is faster than said; and no street makes a junction's time
  // shorter that is reached from one settled, so that none is slower.
  Status check() override {
    if (searches_[target_] != search_)
      return corrupt("the target is not found");
    if (times_[source_] != 0) return corrupt("the source is not where it is");
    for (std::uint32_t u = 0; u < times_.size(); ++u) {
      if (searches_[u] != search_) continue;
      if (u != source_ && !follows(parents_[u], u)) {
        return corrupt("junction " + std::to_string(u) +
                       " is not as far as its parent and the street");
      }
      if (times_[u] >= times_[target_]) continue;
      for (std::uint32_t i = begin_[u]; i < begin_[u + 1]; ++i) {
        const auto& [v, time] = arcs_[i];
        if (searches_[v] == search_ && times_[v] <= times_[u] + time) continue;
        return corrupt("there is a faster route to junction " +
                       std::to_string(v));
      }
    }
    return {};
  }

  void spoil() override { ++times_[target_]; }

 private:
  std::uint32_t number(std::size_t x, std::size_t y) const {
    constexpr std::size_t kSize = kDistrict * kDistrict;
    const std::size_t district =
        y / kDistrict * (width_ / kDistrict) + x / kDistrict;
    const std::size_t within = y % kDistrict * kDistrict + x % kDistrict;
    const std::uint64_t order = mix(district + 1);
    const std::size_t shuffled = (within * (order | 1) + (order >> 32)) % kSize;
    return static_cast<std::uint32_t>(district * kSize + shuffled);
  }

  // Time on the street from a junction to the north or west; 0: there is none.
  // Each has one of them, so that there is a way from everywhere to the corner.
  std::uint32_t street(std::size_t x, std::size_t y, bool north) const {
    if ((north ? y : x) == 0) return 0;
    const std::uint64_t drawn = mix(y * width_ + x + (settings_.seed << 40));
    const std::size_t line = north ? x : y;
    const bool lost = drawn % kOften < kMissing && north == (drawn >> 63 != 0);
    if (lost && x > 0 && y > 0 && line % kHighway != 0) return 0;
    const auto more = static_cast<std::uint32_t>(mix(drawn + north) >> 32);
    const std::uint32_t time = kShortest + more % kShortest;
    if (line % kHighway == 0) return time / kHighwaySpeed;
    return line % kMain == 0 ? time / kMainSpeed : time;
  }

  // Calls visit(x, y of the other end, time) for the streets of a junction.
  template <typename Visit>
  void each_street(std::size_t x, std::size_t y, const Visit& visit) const {
    if (const auto time = street(x, y, true)) visit(x, y - 1, time);
    if (const auto time = street(x, y, false)) visit(x - 1, y, time);
    if (y + 1 < height_) {
      if (const auto time = street(x, y + 1, true)) visit(x, y + 1, time);
    }
    if (x + 1 < width_) {
      if (const auto time = street(x + 1, y, false)) visit(x + 1, y, time);
    }
  }

  void make_map() {
    begin_.assign(width_ * height_ + 1, 0);
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) {
        std::uint32_t& count = begin_[number(x, y) + 1];
        each_street(x, y,
                    [&](std::size_t, std::size_t, std::uint32_t) { ++count; });
      }
    }
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    arcs_.resize(begin_.back());
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) {
        Arc* arc = &arcs_[begin_[number(x, y)]];
        each_street(x, y,
                    [&](std::size_t u, std::size_t v, std::uint32_t time) {
                      *arc++ = {number(u, v), time};
                    });
      }
    }
  }

  // Until the target is settled.
  void search() {
    ++search_;
    size_ = 0;
    label(source_, source_, 0);
    while (size_ > 0) {
      const Entry nearest = pop();
      if (nearest.junction == target_) return;
      for (std::uint32_t i = begin_[nearest.junction];
           i < begin_[nearest.junction + 1]; ++i) {
        label(arcs_[i].head, nearest.junction, nearest.time + arcs_[i].time);
      }
    }
  }

  void label(std::uint32_t junction, std::uint32_t parent, std::uint32_t time) {
    if (searches_[junction] != search_) {
      searches_[junction] = search_;
      CHECK(size_ < heap_.size());
      places_[junction] = size_++;
    } else if (time >= times_[junction]) {
      return;
    }
    times_[junction] = time;
    parents_[junction] = parent;
    rise(places_[junction], {time, junction});
  }

  void put(std::uint32_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.junction] = place;
  }

  // From a place that may be overwritten.
  void rise(std::uint32_t place, const Entry& entry) {
    while (place > 0) {
      const std::uint32_t above = (place - 1) / 2;
      if (heap_[above].time <= entry.time) break;
      put(place, heap_[above]);
      place = above;
    }
    put(place, entry);
  }

  Entry pop() {
    const Entry nearest = heap_[0];
    const Entry last = heap_[--size_];
    if (size_ == 0) return nearest;
    std::uint32_t place = 0;
    for (;;) {
      std::uint32_t below = 2 * place + 1;
      if (below >= size_) break;
      if (below + 1 < size_ && heap_[below + 1].time < heap_[below].time) {
        ++below;
      }
      if (last.time <= heap_[below].time) break;
      put(place, heap_[below]);
      place = below;
    }
    put(place, last);
    return nearest;
  }

  // Whether a street leads from one to the other in the time between them.
  bool follows(std::uint32_t parent, std::uint32_t junction) const {
    if (searches_[parent] != search_) return false;
    for (std::uint32_t i = begin_[parent]; i < begin_[parent + 1]; ++i) {
      if (arcs_[i].head != junction) continue;
      if (times_[junction] == times_[parent] + arcs_[i].time) return true;
    }
    return false;
  }

  WorkloadSettings settings_;
  std::vector<std::uint32_t> begin_;  // of a junction's arcs
  std::vector<Arc> arcs_;
  std::vector<std::uint32_t> times_, parents_;  // of the search that was here
  std::vector<std::uint32_t> searches_;         // last one that was here
  std::vector<std::uint32_t> places_;           // in the heap
  std::vector<Entry> heap_;                     // nearest first
  std::size_t width_ = 0, height_ = 0;          // of the map, in junctions
  std::uint32_t size_ = 0;                      // of the heap
  std::uint32_t search_ = 0;                    // number of the last one
  std::uint32_t source_ = 0, target_ = 0;
};

const RegisterWorkload kEntry{
    "shortest_paths",
    {"route planning: shortest paths on a road network, Dijkstra's algorithm "
     "with a binary heap",
     "the heap's upper levels; arcs and labels of one of 16 regions and around "
     "it, in growing circles; another region every 4 steps",
     true, make_workload<ShortestPaths>}};

}  // namespace
}  // namespace thermocline
