#include "traces/iterations.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace thermocline {
namespace {

constexpr std::size_t kLeast = 3;  // repetitions
constexpr double kSteady = 0.97;   // share of distances that are the same
constexpr double kCovered = 0.5;   // share of the operators in between

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

class Signatures {
 public:
  explicit Signatures(const Trace& trace) {
    for (const Tensor& tensor : trace.tensors) {
      bytes_[tensor.serial] = tensor.bytes;
    }
  }
  std::size_t of(const Operator& op) const {
    const std::hash<std::string> text;
    std::size_t sum = mix(text(op.name), text(op.layer));
    sum = mix(sum, static_cast<std::size_t>(op.phase));
    for (const auto* list : {&op.reads, &op.writes}) {
      sum = mix(sum, list->size());
      for (const ObjectId serial : *list) {
        const auto at = bytes_.find(serial);
        sum = mix(sum, at == bytes_.end() ? 0 : at->second);
      }
    }
    return sum;
  }

 private:
  std::unordered_map<ObjectId, Bytes> bytes_;
};

// The distance that nearly all of `places` keep; 0 if there is none.
std::size_t steady_distance(const std::vector<std::size_t>& places) {
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < places.size(); ++i) {
    distances.push_back(places[i] - places[i - 1]);
  }
  std::sort(distances.begin(), distances.end());
  const std::size_t middle = distances[distances.size() / 2];
  const auto [first, last] =
      std::equal_range(distances.begin(), distances.end(), middle);
  const auto same = static_cast<double>(last - first);
  return same >= kSteady * static_cast<double>(distances.size()) ? middle : 0;
}

std::vector<Nanos> by_repetition(const Trace& trace) {
  const Signatures signatures(trace);
  std::unordered_map<std::size_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    places[signatures.of(trace.operators[i])].push_back(i);
  }
  const std::vector<std::size_t>* best = nullptr;
  std::size_t soonest = 0;
  for (const auto& [unused, at] : places) {
    if (at.size() < kLeast) continue;
    const auto covered = static_cast<double>(at.back() - at.front());
    if (covered < kCovered * static_cast<double>(trace.operators.size())) {
      continue;
    }
    const std::size_t distance = steady_distance(at);
    if (distance == 0) continue;
    // Of equals the first in the job's order.
    if (best == nullptr || distance < soonest ||
        (distance == soonest && at.front() < best->front())) {
      best = &at;
      soonest = distance;
    }
  }
  std::vector<Nanos> starts;
  if (best != nullptr) {
    for (const std::size_t i : *best) {
      starts.push_back(trace.operators[i].start);
    }
  }
  return starts;
}

std::vector<Nanos> by_backward(const Trace& trace) {
  std::vector<Nanos> starts;
  bool after = false;
  for (const Operator& op : trace.operators) {
    if (op.phase == Phase::kBackward) {
      after = true;
    } else if (op.phase == Phase::kForward && std::exchange(after, false)) {
      starts.push_back(op.start);
    }
  }
  return starts;
}

}  // namespace

Iterations find_iterations(const Trace& trace) {
  Iterations found{"marks", {}};
  for (const Mark& mark : trace.marks) {
    if (mark.name.starts_with("step")) found.starts.push_back(mark.time);
  }
  if (found.starts.size() >= kLeast) return found;
  found = {"repetition", by_repetition(trace)};
  if (found.starts.size() >= kLeast) return found;
  found = {"backward", by_backward(trace)};
  if (found.starts.size() >= kLeast) return found;
  return {};
}

}  // namespace thermocline
