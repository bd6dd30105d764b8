#include "daemon/report_heat.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "traces/from_cache.h"
#include "traces/tensor_accesses.h"

namespace thermocline {
namespace {

constexpr double kLine = 64;
// Rows do not reach across such a hole: heap, mappings and stack stay apart.
constexpr Address kFar = Address{1} << 30;

HeatRow empty_row(const TimeBins& bins) {
  HeatRow row;
  row.loads.assign(bins.count, 0);
  row.stores.assign(bins.count, 0);
  return row;
}

void add(const Sample& sample, const TimeBins& bins, HeatRow& row) {
  if (from_cache(sample)) return;
  auto& cells = sample.access == Access::kStore ? row.stores : row.loads;
  cells[bins.of(sample.time)] += sample.period;
}

// The last mapping at that address, for mappings replace one another.
std::string name_at(const Trace& trace, Address address) {
  for (auto at = trace.mappings.rbegin(); at != trace.mappings.rend(); ++at) {
    if (at->start <= address && address < at->end) return at->name;
  }
  return {};
}

double weight(const HeatRow& row) {
  return std::accumulate(row.loads.begin(), row.loads.end(), 0.0) +
         std::accumulate(row.stores.begin(), row.stores.end(), 0.0);
}

// A tensor is read whole by an operator, spread over the time that it takes.
void add_uses(const Trace& trace, const TimeBins& bins,
              const std::map<ObjectId, std::size_t>& row_of,
              std::vector<HeatRow>& rows) {
  for (const Operator& op : trace.operators) {
    const auto use = [&](ObjectId serial, std::vector<double> HeatRow::*cells) {
      const auto at = row_of.find(serial);
      if (at == row_of.end()) return;
      HeatRow& row = rows[at->second];
      bins.spread(op.start, op.end,
                  std::ceil(static_cast<double>(row.bytes) / kLine),
                  row.*cells);
    };
    for (const ObjectId serial : op.reads) use(serial, &HeatRow::loads);
    for (const ObjectId serial : op.writes) use(serial, &HeatRow::stores);
  }
}

// The most used first; those beyond `rows` become one.
void keep_most_used(std::size_t rows, const TimeBins& bins,
                    std::vector<HeatRow>& all) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const double w = weight(all[i]); w > 0) order.emplace_back(-w, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<HeatRow> kept;
  HeatRow rest = empty_row(bins);
  rest.count = 0;
  for (const auto& [unused, i] : order) {
    if (kept.size() < rows) {
      kept.push_back(std::move(all[i]));
      continue;
    }
    rest.bytes += all[i].bytes;
    rest.count += all[i].count;
    for (std::size_t b = 0; b < bins.count; ++b) {
      rest.loads[b] += all[i].loads[b];
      rest.stores[b] += all[i].stores[b];
    }
  }
  rest.name = "all others";
  if (rest.count > 0) kept.push_back(std::move(rest));
  all = std::move(kept);
}

}  // namespace

HeatMap heat_by_address(const Trace& trace, const TimeBins& bins,
                        std::size_t rows) {
  HeatMap out;
  const Bytes page = trace.info.page_bytes;
  std::vector<Address> pages;
  for (const Sample& sample : trace.samples) {
    pages.push_back(sample.address / page);
  }
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  if (pages.empty()) return out;
  std::vector<std::size_t> first;  // of each row, in pages
  for (std::size_t height = (pages.size() + rows - 1) / rows;; height *= 2) {
    first.clear();
    for (std::size_t i = 0; i < pages.size(); ++i) {
      if (first.empty() || i - first.back() == height ||
          (pages[i] - pages[i - 1]) * page > kFar) {
        first.push_back(i);
      }
    }
    if (first.size() <= rows || height >= pages.size()) break;
  }
  for (std::size_t r = 0; r < first.size(); ++r) {
    const std::size_t last = r + 1 < first.size() ? first[r + 1] : pages.size();
    HeatRow row = empty_row(bins);
    row.start = pages[first[r]] * page;
    row.end = (pages[last - 1] + 1) * page;
    row.count = last - first[r];
    row.bytes = row.count * page;
    row.name = name_at(trace, row.start);
    out.rows.push_back(std::move(row));
  }
  for (const Sample& sample : trace.samples) {
    const auto row = std::upper_bound(
        out.rows.begin(), out.rows.end(), sample.address,
        [](Address a, const HeatRow& one) { return a < one.start; });
    add(sample, bins, *std::prev(row));
  }
  return out;
}

HeatMap heat_by_tensor(const Trace& trace, const TimeBins& bins,
                       std::size_t rows) {
  HeatMap out;
  out.sampled = !trace.samples.empty();
  std::map<std::pair<Address, Bytes>, std::size_t> row_at;
  std::map<ObjectId, std::size_t> row_of;
  std::vector<std::size_t> row_of_position;
  for (const Tensor& tensor : trace.tensors) {
    const auto [at, is_new] =
        row_at.try_emplace({tensor.address, tensor.bytes}, out.rows.size());
    row_of[tensor.serial] = at->second;
    row_of_position.push_back(at->second);
    if (!is_new) {
      ++out.rows[at->second].count;
      continue;
    }
    HeatRow row = empty_row(bins);
    row.name = "tensor:" + std::to_string(tensor.serial);
    row.label = tensor.label;
    row.start = tensor.address;
    row.end = tensor.address + tensor.bytes;
    row.bytes = tensor.bytes;
    out.rows.push_back(std::move(row));
  }
  if (out.sampled) {
    const auto hit = tensor_of_samples(trace);
    for (std::size_t i = 0; i < hit.size(); ++i) {
      if (hit[i] == kNoTensor) continue;
      add(trace.samples[i], bins, out.rows[row_of_position[hit[i]]]);
    }
  } else {
    add_uses(trace, bins, row_of, out.rows);
  }
  keep_most_used(rows, bins, out.rows);
  return out;
}

nlohmann::ordered_json to_json(const HeatMap& map, const TimeBins& bins) {
  double most = 0;
  for (const HeatRow& row : map.rows) {
    for (const double cell : row.loads) most = std::max(most, cell);
    for (const double cell : row.stores) most = std::max(most, cell);
  }
  const double unit = std::max(1.0, std::ceil(most / 9999));
  const auto cells = [&](const std::vector<double>& of) {
    std::vector<int> out;
    for (const double one : of) {
      out.push_back(
          one > 0 ? std::max(1, static_cast<int>(std::lround(one / unit))) : 0);
    }
    return out;
  };
  auto rows = nlohmann::ordered_json::array();
  for (const HeatRow& row : map.rows) {
    char start[24];
    char end[24];
    std::snprintf(start, sizeof start, "0x%llx",
                  static_cast<unsigned long long>(row.start));
    std::snprintf(end, sizeof end, "0x%llx",
                  static_cast<unsigned long long>(row.end));
    rows.push_back({{"name", row.name},
                    {"label", row.label},
                    {"start", start},
                    {"end", end},
                    {"bytes", row.bytes},
                    {"count", row.count},
                    {"accesses", weight(row)},
                    {"loads", cells(row.loads)},
                    {"stores", cells(row.stores)}});
  }
  return {{"sampled", map.sampled},
          {"columns", bins.count},
          {"unit", unit},
          {"rows", std::move(rows)}};
}

}  // namespace thermocline
