#include "estimator/alignment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "traces/regions.h"
#include "traces/tensor_accesses.h"

namespace thermocline {
namespace {

constexpr double kMostUnmatched = 0.25;
constexpr std::size_t kMostAlike = 2000;
// Anonymous mappings whose sizes differ by more are not the same.
constexpr double kLikeSize = 0.5;

double likeness(Bytes a, Bytes b) {
  return static_cast<double>(std::min(a, b)) /
         static_cast<double>(std::max<Bytes>(std::max(a, b), 1));
}

bool grows_down(const std::string& name) {
  return name.empty() || name == "[stack]";
}

// Pairs of positions in two lists of mappings that are alike, in order; as many
// as may be, and of like size.
std::vector<std::pair<std::size_t, std::size_t>> in_order(
    const std::vector<Bytes>& a, const std::vector<Bytes>& b, double least) {
  const auto worth = [&](std::size_t i, std::size_t j) {
    const double like = likeness(a[i], b[j]);
    return like >= least ? 1 + like : 0;
  };
  // best[i][j]: of the first i and the first j.
  std::vector<std::vector<double>> best(a.size() + 1,
                                        std::vector<double>(b.size() + 1, 0));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = std::max({best[i - 1][j], best[i][j - 1],
                             best[i - 1][j - 1] + worth(i - 1, j - 1)});
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::size_t i = a.size(), j = b.size();
  while (i > 0 && j > 0) {
    if (best[i][j] == best[i - 1][j]) {
      --i;
    } else if (best[i][j] == best[i][j - 1]) {
      --j;
    } else {
      out.emplace_back(--i, --j);
    }
  }
  return out;
}

}  // namespace

Alignment::Areas Alignment::areas_of(const Trace& trace) {
  Areas areas;
  for (const Mapping& mapping : trace.mappings) {
    if (mapping.start >= mapping.end) continue;
    // What lies there makes room, as for mmap.
    auto at = areas.lower_bound(mapping.start);
    if (at != areas.begin() && std::prev(at)->second.end > mapping.start) --at;
    while (at != areas.end() && at->first < mapping.end) {
      const Address start = at->first;
      const Area old = at->second;
      at = areas.erase(at);
      if (start < mapping.start) {
        areas[start] = old;
        areas[start].end = mapping.start;
      }
      if (old.end > mapping.end) areas[mapping.end] = old;
    }
    Area area;
    area.end = mapping.end;
    area.name = mapping.name;
    area.permissions = mapping.permissions;
    area.placeable = RegionMap::placeable(mapping);
    areas[mapping.start] = area;
  }
  return areas;
}

const Alignment::Area* Alignment::find(const Areas& areas, Address address) {
  const auto next = areas.upper_bound(address);
  if (next == areas.begin()) return nullptr;
  const Area& area = std::prev(next)->second;
  return address < area.end ? &area : nullptr;
}

void Alignment::match(const Areas& to) {
  struct Alike {
    std::vector<Areas::const_iterator> to;
    std::vector<Areas::iterator> from;
  };
  std::map<std::pair<std::string, std::string>, Alike> alike;
  std::set<Address> met;  // where areas of `to` begin that stayed in place
  for (auto at = areas_.begin(); at != areas_.end(); ++at) {
    Area& area = at->second;
    auto other = to.upper_bound(at->first);
    if (other != to.begin()) --other;
    for (; other != to.end() && other->first < area.end; ++other) {
      const auto& [start, there] = *other;
      if (there.end <= at->first || there.name != area.name) continue;
      area.to_start = area.matched ? area.to_start : start;
      area.to_end = there.end;
      area.matched = true;
      met.insert(start);
    }
    if (!area.matched) alike[{area.name, area.permissions}].from.push_back(at);
  }
  for (auto at = to.begin(); at != to.end(); ++at) {
    if (met.contains(at->first)) continue;
    alike[{at->second.name, at->second.permissions}].to.push_back(at);
  }
  // Anonymous memory that both runs have for themselves is the same only if
  // the runs were laid out differently: something with a name says so.
  const bool elsewhere =
      met.empty() ||
      std::any_of(alike.begin(), alike.end(), [](const auto& group) {
        return !group.first.first.empty() && !group.second.to.empty() &&
               !group.second.from.empty();
      });
  for (const auto& [key, both] : alike) {
    if (key.first.empty() && !elsewhere) continue;
    if (std::max(both.to.size(), both.from.size()) > kMostAlike) continue;
    std::vector<Bytes> theirs, mine;
    for (const auto& at : both.to) theirs.push_back(at->second.end - at->first);
    for (const auto& at : both.from) mine.push_back(at->second.end - at->first);
    const double least = key.first.empty() ? kLikeSize : 0;
    for (const auto& [i, j] : in_order(theirs, mine, least)) {
      const auto& [start, there] = *both.to[i];
      Area& area = both.from[j]->second;
      area.matched = true;
      area.to_start = start;
      area.to_end = there.end;
      area.shift = grows_down(area.name) ? there.end - area.end
                                         : start - both.from[j]->first;
    }
  }
}

void Alignment::match_tensors(const Trace& to, const Trace& from) {
  std::unordered_map<ObjectId, const Tensor*> theirs;
  for (const Tensor& tensor : to.tensors) theirs[tensor.serial] = &tensor;
  for (const Tensor& tensor : from.tensors) {
    const auto at = theirs.find(tensor.serial);
    if (at == theirs.end() || at->second->bytes != tensor.bytes) continue;
    tensors_[tensor.serial] = at->second->address;
  }
}

std::optional<Address> Alignment::translate(Address address) const {
  const Area* const area = find(areas_, address);
  if (area == nullptr || !area->matched) return {};
  const Address there = address + area->shift;
  if (there < area->to_start || there >= area->to_end) return {};
  return there;
}

Result<Alignment> Alignment::of(const Trace& to, const Trace& from) {
  Alignment out;
  out.mappings_ = to.mappings;
  out.areas_ = areas_of(from);
  const Areas theirs = areas_of(to);
  out.match(theirs);
  out.match_tensors(to, from);
  // What of `to` has a counterpart.
  std::map<Address, Address> met;
  for (const auto& [start, area] : out.areas_) {
    if (!area.matched) continue;
    met[std::max(area.to_start, start + area.shift)] =
        std::min(area.to_end, area.end + area.shift);
  }
  double all = 0, lost = 0;
  for (const Sample& sample : from.samples) {
    const Area* const area = find(out.areas_, sample.address);
    if (area == nullptr || !area->placeable) continue;
    all += 1;
    const auto there = out.translate(sample.address);
    out.moved_ = out.moved_ || (there && *there != sample.address) ||
                 out.translate(sample.ip).value_or(sample.ip) != sample.ip;
    if (!there) lost += 1;
  }
  double all_there = 0, lost_there = 0;
  for (const Sample& sample : to.samples) {
    const Area* const area = find(theirs, sample.address);
    if (area == nullptr || !area->placeable) continue;
    all_there += 1;
    const auto next = met.upper_bound(sample.address);
    if (next == met.begin() || sample.address >= std::prev(next)->second) {
      lost_there += 1;
    }
  }
  out.unmatched_ = std::max(all > 0 ? lost / all : 0,
                            all_there > 0 ? lost_there / all_there : 0);
  if (out.unmatched_ <= kMostUnmatched) return out;
  return invalid(std::to_string(std::lround(out.unmatched_ * 100)) +
                 "% of a run's accesses lie in memory that the other run has "
                 "no counterpart of; record both without address "
                 "randomisation (setarch -R)");
}

Trace Alignment::translated(Trace from) const {
  const auto tensor_of = tensor_of_samples(from);
  for (std::size_t s = 0; s < from.samples.size(); ++s) {
    Sample& sample = from.samples[s];
    sample.ip = translate(sample.ip).value_or(sample.ip);
    if (tensor_of[s] != kNoTensor) {
      const Tensor& tensor = from.tensors[tensor_of[s]];
      if (const auto at = tensors_.find(tensor.serial); at != tensors_.end()) {
        sample.address = at->second + (sample.address - tensor.address);
        continue;
      }
    }
    sample.address = translate(sample.address).value_or(0);
  }
  for (AccessSequence& sequence : from.sequences) {
    for (SequencedAccess& access : sequence.accesses) {
      access.ip = translate(access.ip).value_or(access.ip);
      access.address = translate(access.address).value_or(0);
    }
  }
  for (Tensor& tensor : from.tensors) {
    const auto at = tensors_.find(tensor.serial);
    tensor.address = at != tensors_.end()
                         ? at->second
                         : translate(tensor.address).value_or(0);
  }
  from.mappings = mappings_;
  return from;
}

}  // namespace thermocline
