#include "traces/tensor_accesses.h"

#include <algorithm>
#include <limits>

#include "traces/address_map.h"

namespace thermocline {
namespace {

constexpr Address kPage = 4096;

// Who lives in the pages at the edges of a tensor; the pages in between are
// its own.
void look_at_edges(const AddressMap& map, const Tensor& tensor,
                   TensorAccess& access) {
  std::vector<ObjectId> neighbours;
  const auto look = [&](Address page) {
    const auto before = neighbours.size();
    map.each_in_page(page, [&](ObjectId id) { neighbours.push_back(id); });
    if (neighbours.size() > before) ++access.shared_pages;
  };
  const Address first = tensor.address / kPage;
  const Address last = (tensor.address + tensor.bytes - 1) / kPage;
  look(first * kPage);
  if (last != first) look(last * kPage);
  std::sort(neighbours.begin(), neighbours.end());
  access.neighbours = static_cast<std::uint64_t>(
      std::unique(neighbours.begin(), neighbours.end()) - neighbours.begin());
}

// Replays births and deaths beside the samples: calls born_at(map,
// position) before a tensor takes its place, and hit(sample, position or
// kNoTensor) for each sample.
void replay(const Trace& trace, auto&& born_at, auto&& hit) {
  const auto& tensors = trace.tensors;
  std::vector<std::uint32_t> deaths;  // positions of those that die, by time
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].died != -1) deaths.push_back(i);
  }
  std::stable_sort(deaths.begin(), deaths.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return tensors[a].died < tensors[b].died;
                   });

  AddressMap map;
  std::uint32_t born = 0;
  std::size_t died = 0;
  // Everything up to `time`: what dies at an instant makes room for what is
  // born at it.
  const auto advance = [&](Nanos time) {
    for (;;) {
      const bool birth = born < tensors.size() && tensors[born].born <= time;
      const bool death =
          died < deaths.size() && tensors[deaths[died]].died <= time;
      if (death &&
          (!birth || tensors[deaths[died]].died <= tensors[born].born)) {
        const Tensor& dead = tensors[deaths[died]];
        // Unless another has taken its place: its death came too late.
        if (map.find(dead.address) == deaths[died]) {
          map.erase(dead.address, dead.address + dead.bytes);
        }
        ++died;
      } else if (birth) {
        const Tensor& tensor = tensors[born];
        const bool lives = tensor.died == -1 || tensor.died > tensor.born;
        if (lives && tensor.bytes > 0) {
          born_at(map, born);
          map.insert(tensor.address, tensor.address + tensor.bytes, born);
        }
        ++born;
      } else {
        return;
      }
    }
  };
  for (const Sample& sample : trace.samples) {
    advance(sample.time);
    const ObjectId at = map.find(sample.address);
    hit(sample, at == AddressMap::kNone ? kNoTensor : at);
  }
  advance(std::numeric_limits<Nanos>::max());
}

}  // namespace

TensorAccesses tensor_accesses(const Trace& trace) {
  TensorAccesses result;
  result.tensors.resize(trace.tensors.size());
  for (std::size_t i = 0; i < trace.tensors.size(); ++i) {
    result.tensors[i].serial = trace.tensors[i].serial;
    result.tensors[i].bytes = trace.tensors[i].bytes;
  }
  const auto born = [&](const AddressMap& map, std::uint32_t at) {
    look_at_edges(map, trace.tensors[at], result.tensors[at]);
  };
  replay(trace, born, [&](const Sample& sample, std::uint32_t at) {
    if (at == kNoTensor) {
      ++result.elsewhere;
      return;
    }
    ++result.on_tensors;
    TensorAccess& access = result.tensors[at];
    ++access.samples;
    (sample.access == Access::kStore ? access.stores : access.loads) +=
        sample.period;
  });
  return result;
}

std::vector<std::uint32_t> tensor_of_samples(const Trace& trace) {
  std::vector<std::uint32_t> of;
  of.reserve(trace.samples.size());
  replay(
      trace, [](const AddressMap&, std::uint32_t) {},
      [&](const Sample&, std::uint32_t at) { of.push_back(at); });
  return of;
}

}  // namespace thermocline
