#include "daemon/job_objects.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "traces/address_map.h"
#include "traces/from_cache.h"
#include "traces/tensor_accesses.h"

namespace thermocline {
namespace {

// Pieces into which all anonymous memory is cut, at most about so many.
constexpr Bytes kPieces = 64;
// Neighbours whose gains per byte differ by less than this factor are one
// object; below this share of the mean, memory is cold and alike.
constexpr double kAlike = 1.5;
constexpr double kColdShare = 0.01;
constexpr std::uint32_t kWholeRun = ~std::uint32_t{0};
constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::string range_name(Address start, Address end) {
  char text[48];
  std::snprintf(text, sizeof text, "0x%llx-0x%llx",
                static_cast<unsigned long long>(start),
                static_cast<unsigned long long>(end));
  return text;
}

// Adds what each object would gain, by the object of each region; returns the
// whole job's gain.
double add_gains(const Differential& made,
                 const std::vector<std::uint32_t>& of_region,
                 std::vector<double>& gain) {
  double all = 0;
  for (std::size_t w = 0; w < made.windows(); ++w) {
    const double gap = made.slow_ns(w) - made.fast_ns(w);
    for (const WindowAccess& access : made.accesses(w)) {
      gain[of_region[access.object]] += access.cost * gap;
    }
    all += gap;
  }
  return all;
}

}  // namespace

JobObjects::JobObjects(const Differential& made, const Trace* slow,
                       const Trace* fast) {
  const Trace& first = slow != nullptr ? *slow : *fast;
  add_mappings(made, first);
  if (first.tensors.empty()) return;
  const RegionIndex index(made.objects());
  add_tensors(first);
  if (slow != nullptr) add_samples(made, index, *slow, true);
  if (fast != nullptr) add_samples(made, index, *fast, false);
  sum_entries();
}

void JobObjects::add_mappings(const Differential& made, const Trace& trace) {
  const auto regions = made.objects();
  AddressMap named;  // -> index of the mapping whose name lies there last
  for (std::uint32_t i = 0; i < trace.mappings.size(); ++i) {
    const Mapping& mapping = trace.mappings[i];
    if (RegionMap::placeable(mapping) && mapping.start < mapping.end) {
      named.insert(mapping.start, mapping.end, i);
    }
  }
  const auto name_at = [&](Address address) {
    const ObjectId at = named.find(address);
    return at == AddressMap::kNone ? std::string() : trace.mappings[at].name;
  };
  Bytes anonymous = 0;
  for (const Region& region : regions) {
    if (name_at(region.start).empty()) anonymous += region.bytes();
  }
  const Bytes piece = std::bit_ceil(std::max<Bytes>(anonymous / kPieces, 4096));

  std::map<std::string, std::uint32_t> by_name;
  std::map<Address, std::uint32_t> by_piece;
  std::vector<Region> spans;
  for (const Region& region : regions) {
    const std::string name = name_at(region.start);
    const auto next = static_cast<std::uint32_t>(objects_.size());
    const std::uint32_t object =
        name.empty()
            ? by_piece.emplace(region.start / piece, next).first->second
            : by_name.emplace(name, next).first->second;
    if (object == next) {
      objects_.push_back({name, "", 0, 1});
      spans.push_back(region);
    }
    objects_[object].bytes += region.bytes();
    spans[object].start = std::min(spans[object].start, region.start);
    spans[object].end = std::max(spans[object].end, region.end);
    of_region_.push_back(object);
  }
  merge_alike(made, spans);
}

void JobObjects::merge_alike(const Differential& made,
                             std::vector<Region>& spans) {
  std::vector<double> gain(objects_.size(), 0);
  const double all_gain = add_gains(made, of_region_, gain);
  std::vector<std::uint32_t> order;
  Bytes all_bytes = 0;
  for (std::uint32_t i = 0; i < objects_.size(); ++i) {
    if (objects_[i].name.empty()) order.push_back(i);
    all_bytes += objects_[i].bytes;
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return spans[a].start < spans[b].start;
  });
  const double least =
      std::abs(all_gain) / static_cast<double>(all_bytes) * kColdShare;
  const auto density = [&](std::uint32_t i) {
    return std::max(least, gain[i] / static_cast<double>(objects_[i].bytes));
  };
  std::vector<std::uint32_t> into(objects_.size());
  std::iota(into.begin(), into.end(), 0U);
  std::uint32_t last = kNone;
  for (const std::uint32_t i : order) {
    if (last != kNone && spans[last].end == spans[i].start &&
        density(i) <= kAlike * density(last) &&
        density(last) <= kAlike * density(i)) {
      spans[last].end = spans[i].end;
      objects_[last].bytes += objects_[i].bytes;
      gain[last] += gain[i];
      into[i] = last;
    } else {
      last = i;
    }
  }
  std::vector<Object> kept;
  std::vector<std::uint32_t> now(objects_.size());
  for (std::uint32_t i = 0; i < objects_.size(); ++i) {
    if (into[i] != i) continue;
    now[i] = static_cast<std::uint32_t>(kept.size());
    if (objects_[i].name.empty()) {
      objects_[i].name = range_name(spans[i].start, spans[i].end);
    }
    kept.push_back(std::move(objects_[i]));
  }
  for (std::uint32_t& object : of_region_) object = now[into[object]];
  objects_ = std::move(kept);
}

void JobObjects::add_tensors(const Trace& trace) {
  for (const Tensor& tensor : trace.tensors) {
    const auto next = static_cast<std::uint32_t>(objects_.size());
    const auto [at, added] =
        of_tensor_.try_emplace({tensor.address, tensor.bytes}, next);
    if (added) {
      objects_.push_back({"tensor:" + std::to_string(tensor.serial),
                          tensor.label, tensor.bytes, 1});
    } else {
      ++objects_[at->second].count;
    }
  }
}

void JobObjects::add_samples(const Differential& made, const RegionIndex& index,
                             const Trace& trace, bool is_slow) {
  const auto tensors = tensor_of_samples(trace);
  const auto last = static_cast<std::uint32_t>(made.windows() - 1);
  const auto length = [&](std::uint32_t w) {
    return is_slow ? made.slow_ns(w) : made.fast_ns(w);
  };
  const auto start = static_cast<double>(trace.start_ns());
  std::uint32_t window = 0;
  double end = length(0);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Sample& sample = trace.samples[i];
    if (from_cache(sample)) continue;  // costs nothing, wherever it lies
    const double time = static_cast<double>(sample.time) - start;
    while (window < last && end <= time) end += length(++window);
    const auto region = index.find(sample.address);
    if (!region) continue;
    std::uint32_t object = of_region_[*region];
    if (tensors[i] != kNoTensor) {
      const Tensor& tensor = trace.tensors[tensors[i]];
      const auto at = of_tensor_.find({tensor.address, tensor.bytes});
      if (at != of_tensor_.end()) object = at->second;
    }
    const double weight = std::max(sample.period, 1U);
    entries_.push_back({window, *region, object, weight});
    entries_.push_back({kWholeRun, *region, object, weight});
  }
}

void JobObjects::sum_entries() {
  const auto key = [](const Entry& entry) {
    return std::tuple(entry.window, entry.region, entry.object);
  };
  std::stable_sort(
      entries_.begin(), entries_.end(),
      [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (kept > 0 && key(entries_[kept - 1]) == key(entry)) {
      entries_[kept - 1].weight += entry.weight;
    } else {
      entries_[kept++] = entry;
    }
  }
  entries_.resize(kept);
}

bool JobObjects::add_parts(std::uint32_t window, ObjectId region,
                           std::vector<Part>& parts) const {
  const auto first = std::partition_point(
      entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return std::tuple(entry.window, entry.region) <
               std::tuple(window, region);
      });
  double all = 0;
  for (auto at = first;
       at != entries_.end() && at->window == window && at->region == region;
       ++at) {
    parts.push_back({at->object, at->weight});
    all += at->weight;
  }
  for (Part& part : parts) part.share /= all;
  return !parts.empty();
}

std::vector<JobObjects::Part> JobObjects::parts(std::size_t window,
                                                ObjectId region) const {
  std::vector<Part> parts;
  if (!entries_.empty() &&
      (add_parts(static_cast<std::uint32_t>(window), region, parts) ||
       add_parts(kWholeRun, region, parts))) {
    return parts;
  }
  return {{of_region_[region], 1.0}};
}

}  // namespace thermocline
