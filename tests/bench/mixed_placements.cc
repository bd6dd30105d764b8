#include "tests/bench/mixed_placements.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace thermocline {
namespace {

constexpr Address kPage = 4096;
constexpr std::size_t kObjects = 5;

std::vector<Address> pages_of(const std::vector<NamedSpan>& arrays) {
  std::set<Address> pages;
  for (const auto& array : arrays) {
    for (Address page = array.start / kPage * kPage; page < array.end;
         page += kPage) {
      pages.insert(page);
    }
  }
  return {pages.begin(), pages.end()};
}

class Maker {
 public:
  explicit Maker(std::vector<Address> pages) : pages_(std::move(pages)) {}

  const std::vector<Address>& pages() const { return pages_; }

  // `listed`: whether the i-th page is among those that differ from the rest.
  void add(const std::string& family, const std::string& name, bool rest_slow,
           const std::function<bool(std::size_t)>& listed) {
    MixedPlacement made{name, family, 0, rest_slow, {}};
    std::size_t count = 0;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      if (!listed(i)) continue;
      ++count;
      if (!made.ranges.empty() && made.ranges.back().end == pages_[i]) {
        made.ranges.back().end += kPage;
      } else {
        made.ranges.push_back({pages_[i], pages_[i] + kPage});
      }
    }
    const double part =
        static_cast<double>(count) / static_cast<double>(pages_.size());
    made.share = rest_slow ? part : 1 - part;
    out.push_back(std::move(made));
  }

  std::vector<MixedPlacement> out;

 private:
  std::vector<Address> pages_;
};

// Rank of each page by samples, the hottest first; ties by address.
std::vector<std::size_t> ranks(const std::vector<Address>& pages,
                               const Trace& trace) {
  std::map<Address, double> samples;
  for (const Sample& sample : trace.samples) {
    samples[sample.address / kPage * kPage] += std::max(sample.period, 1U);
  }
  std::vector<std::size_t> order(pages.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     return samples[pages[a]] > samples[pages[b]];
                   });
  std::vector<std::size_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

void add_objects(Maker& maker, std::vector<NamedSpan> arrays) {
  if (arrays.size() < 2) return;
  std::stable_sort(arrays.begin(), arrays.end(),
                   [](const NamedSpan& a, const NamedSpan& b) {
                     return a.end - a.start > b.end - b.start;
                   });
  arrays.resize(std::min(arrays.size(), kObjects));
  for (const bool rest_slow : {true, false}) {
    // Of two, one alone in slow memory is the other alone in fast memory.
    if (!rest_slow && arrays.size() == 2) continue;
    for (const NamedSpan& array : arrays) {
      maker.add("object", array.name + (rest_slow ? "-fast" : "-slow"),
                rest_slow, [&](std::size_t i) {
                  const Address page = maker.pages()[i];
                  return page + kPage > array.start && page < array.end;
                });
    }
  }
}

}  // namespace

bool MixedPlacement::is_fast(Address address) const {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](Address a, const Range& r) { return a < r.start; });
  const bool listed = after != ranges.begin() && address < (after - 1)->end;
  return listed == rest_slow;
}

nlohmann::json MixedPlacement::to_json() const {
  auto list = nlohmann::json::array();
  for (const Range& range : ranges) {
    list.push_back({range.start, range.end, rest_slow ? 0 : 1});
  }
  return {{"name", name},
          {"family", family},
          {"share", share},
          {"rest", rest_slow ? 1 : 0},
          {"ranges", std::move(list)}};
}

Result<MixedPlacement> MixedPlacement::from_json(const nlohmann::json& json) {
  MixedPlacement out;
  try {  // foreign exceptions end here
    out.name = json.at("name").get<std::string>();
    out.family = json.at("family").get<std::string>();
    out.share = json.at("share").get<double>();
    out.rest_slow = json.at("rest").get<int>() == 1;
    for (const auto& range : json.at("ranges")) {
      out.ranges.push_back(
          {range.at(0).get<Address>(), range.at(1).get<Address>()});
    }
  } catch (const nlohmann::json::exception& error) {
    return invalid(std::string("not a placement: ") + error.what());
  }
  return out;
}

std::vector<MixedPlacement> mixed_placements(
    const std::vector<NamedSpan>& arrays, const Trace& slow) {
  Maker maker(pages_of(arrays));
  const auto& pages = maker.pages();
  const std::size_t count = pages.size();
  const auto none = [](std::size_t) { return false; };
  maker.add("endpoint", "all_slow", true, none);
  maker.add("endpoint", "all_fast", false, none);
  for (const std::size_t percent : {10u, 25u, 50u, 75u, 90u}) {
    maker.add("percent", "percent-" + std::to_string(percent), true,
              [&](std::size_t i) { return pages[i] / kPage % 100 < percent; });
  }
  maker.add("range", "lower-half", true,
            [&](std::size_t i) { return i < count / 2; });
  maker.add("range", "upper-half", true,
            [&](std::size_t i) { return i >= count / 2; });
  maker.add("range", "lower-quarter", true,
            [&](std::size_t i) { return i < count / 4; });
  for (const std::size_t percent : {70u, 80u, 90u}) {
    maker.add(
        "split", "upper-" + std::to_string(percent), true,
        [&](std::size_t i) { return i * 100 >= count * (100 - percent); });
  }
  const auto rank = ranks(pages, slow);
  for (const std::size_t percent : {10u, 25u, 50u}) {
    maker.add("hot", "hottest-" + std::to_string(percent), true,
              [&](std::size_t i) { return rank[i] * 100 < count * percent; });
  }
  add_objects(maker, arrays);
  return maker.out;
}

}  // namespace thermocline
