#include "daemon/probe_operations_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/units.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBar = 30;

// Those for the most bytes, in the order in which they were measured.
std::vector<std::string> titles_of(const PlaceFigures& place) {
  std::vector<std::string> out;
  for (const OperationFigure& one : place.figures) {
    if (std::ranges::find(out, one.title) == out.end()) {
      out.push_back(one.title);
    }
  }
  return out;
}

// Of a single repeat nobody knows.
std::string spread_of(const Measured& measured) {
  char text[16] = " ? ";
  if (measured.repeats > 1) {
    std::snprintf(text, sizeof text, "%2.0f%%", 100 * measured.spread);
  }
  return text;
}

void print_loaded(const std::vector<LoadedFigure>& curve, std::FILE* to) {
  if (curve.empty()) return;
  std::fprintf(to, "  a load beside traffic of");
  for (const LoadedFigure& one : curve) {
    std::fprintf(to, " %9.2f", one.bytes_per_s.median / 1e9);
  }
  std::fprintf(to, " GB/s\n  %24s", "takes");
  for (const LoadedFigure& one : curve) {
    std::fprintf(to, " %9.1f", one.read_ns.median);
  }
  std::fprintf(to, " ns\n");
}

void print(const PlaceFigures& place, std::FILE* to) {
  const auto threads = place.threads();
  double best = 0;
  Bytes bytes = 0;
  for (const OperationFigure& one : place.figures) {
    if (place.find(one.title, one.threads) != &one) continue;
    best = std::max(best, one.bytes_per_s.median);
    bytes = std::max(bytes, one.bytes);
  }
  std::fprintf(to, "\n%s, GB/s of what was wanted, in %s, by threads:\n",
               place.place.c_str(),
               show_bytes(static_cast<double>(bytes)).c_str());
  std::fprintf(to, "  %-24s", "");
  for (const auto count : threads) std::fprintf(to, " %12zu", count);
  std::fprintf(to, "\n");
  for (const std::string& title : titles_of(place)) {
    std::fprintf(to, "  %-24s", title.c_str());
    double rate = 0;
    for (const auto count : threads) {
      const auto* one = place.find(title, count);
      if (one == nullptr) {
        std::fprintf(to, " %12s", "");
        continue;
      }
      rate = one->bytes_per_s.median;
      std::fprintf(to, " %6.2f+-%s", rate / 1e9,
                   spread_of(one->bytes_per_s).c_str());
    }
    const auto length = static_cast<std::size_t>(kBar * rate / best + 0.5);
    std::fprintf(to, "  %s\n", std::string(length, '#').c_str());
  }
  print_loaded(place.loaded, to);
  if (place.left_out > 0) {
    std::fprintf(to,
                 "  note: the time was over before %d of the figures: give "
                 "more --time, or measure fewer --nodes\n",
                 place.left_out);
  }
}

}  // namespace

void print_operations(const std::vector<PlaceFigures>& places, std::FILE* to) {
  if (places.empty()) return;
  for (const PlaceFigures& place : places) print(place, to);
  std::fprintf(to, "\nguidelines, each with the figures it follows from\n");
  for (const Guideline& one : guidelines_of(places)) {
    std::fprintf(to, "  %s: %s\n      %s\n", one.place.c_str(),
                 one.what.c_str(), one.evidence.c_str());
  }
}

nlohmann::ordered_json operations_json(
    const std::vector<PlaceFigures>& places) {
  Json out{{"places", Json::array()}, {"guidelines", Json::array()}};
  for (const PlaceFigures& place : places) {
    Json one{{"place", place.place}};
    if (!place.granularity.empty()) {
      one["granularity"] = place.granularity;
      one["durable"] = place.durable;
    }
    one["left_out"] = place.left_out;
    one["operations"] = Json::array();
    for (const OperationFigure& figure : place.figures) {
      one["operations"].push_back({{"title", figure.title},
                                   {"operation", figure.name},
                                   {"unit_bytes", figure.unit},
                                   {"bytes", figure.bytes},
                                   {"threads", figure.threads},
                                   {"bytes_per_s", figure.bytes_per_s.median},
                                   {"spread", figure.bytes_per_s.spread},
                                   {"repeats", figure.bytes_per_s.repeats}});
    }
    if (!place.loaded.empty()) one["latency_under_load"] = Json::array();
    for (const LoadedFigure& figure : place.loaded) {
      one["latency_under_load"].push_back(
          {{"bytes_per_s", figure.bytes_per_s.median},
           {"read_ns", figure.read_ns.median},
           {"spread", figure.read_ns.spread},
           {"repeats", figure.read_ns.repeats}});
    }
    out["places"].push_back(std::move(one));
  }
  for (const Guideline& one : guidelines_of(places)) {
    out["guidelines"].push_back({{"place", one.place},
                                 {"guideline", one.what},
                                 {"evidence", one.evidence}});
  }
  return out;
}

}  // namespace thermocline
