#include "daemon/report_traffic.h"

#include <nlohmann/json.hpp>

#include "traces/export_columns.h"

namespace thermocline {
namespace {

constexpr double kLine = 64;

// One CPU's counters between two readings.
struct Readings {
  const Counters& before;
  const Counters& now;
  const TimeBins& bins;

  // Adds what a list of cumulative counts grew by; one that fell began anew.
  void add(std::vector<std::uint64_t> Counters::*counts, double unit,
           std::vector<double> Traffic::Link::*cells,
           std::vector<Traffic::Link>& links) const {
    const auto& was = before.*counts;
    const auto& is = now.*counts;
    for (std::size_t t = 0; t < is.size() && t < was.size(); ++t) {
      if (is[t] <= was[t]) continue;
      bins.spread(before.time, now.time,
                  static_cast<double>(is[t] - was[t]) * unit, links[t].*cells);
    }
  }
};

}  // namespace

Traffic traffic_over_time(const Trace& trace, const TimeBins& bins) {
  Traffic out;
  std::size_t tiers = 0;
  for (const Counters& one : trace.counters) {
    out.misses = out.misses || !one.misses.empty();
    out.lines = out.lines || !one.lines_read.empty();
    tiers = std::max({tiers, one.misses.size(), one.lines_read.size(),
                      one.lines_written.size()});
  }
  const std::vector<double> none(bins.count, 0);
  out.links.assign(tiers, {none, none, none});
  using Link = Traffic::Link;
  std::map<std::uint32_t, const Counters*> last;  // by CPU
  for (const Counters& now : trace.counters) {
    const Counters*& before = last[now.cpu];
    if (before != nullptr) {
      const Readings both{*before, now, bins};
      both.add(&Counters::misses, 1, &Link::misses, out.links);
      both.add(&Counters::lines_read, kLine, &Link::read_bytes, out.links);
      both.add(&Counters::lines_written, kLine, &Link::written_bytes,
               out.links);
    }
    before = &now;
  }
  for (const Sample& sample : trace.samples) {
    auto& cells = out.served[source_name(sample.source)];
    if (cells.empty()) cells = none;
    cells[bins.of(sample.time)] += sample.period;
  }
  return out;
}

nlohmann::ordered_json to_json(const Traffic& traffic,
                               const std::vector<std::string>& tiers) {
  auto links = nlohmann::ordered_json::array();
  for (std::size_t t = 0; t < traffic.links.size(); ++t) {
    const auto& link = traffic.links[t];
    nlohmann::ordered_json one = {
        {"tier", t < tiers.size() ? tiers[t] : "tier " + std::to_string(t)}};
    if (traffic.lines) {
      one["read_bytes"] = link.read_bytes;
      one["written_bytes"] = link.written_bytes;
    }
    if (traffic.misses) one["misses"] = link.misses;
    links.push_back(std::move(one));
  }
  return {{"links", std::move(links)}, {"served", traffic.served}};
}

}  // namespace thermocline
