#include "daemon/probe_report.h"

#include <nlohmann/json.hpp>

#include "daemon/probe_operations_report.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kIndent = "        ";

std::string spread_of(const Origin& origin) {
  char text[32] = "         ";
  if (origin.spread > 0) {
    std::snprintf(text, sizeof text, " +- %3.0f %%", 100 * origin.spread);
  }
  return text;
}

std::string latency(double ns, const Origin& origin) {
  char text[48];
  std::snprintf(text, sizeof text, "%9.1f ns%s", ns, spread_of(origin).c_str());
  return text;
}

std::string bandwidth(double bytes_per_s, const Origin& origin) {
  char text[48];
  std::snprintf(text, sizeof text, "%8.2f GB/s%s", bytes_per_s / 1e9,
                spread_of(origin).c_str());
  return text;
}

// "0, 1" or "0, 1, ... 31 (32 CPUs)"
std::string cpus_of(const NodePlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < plan.cpus.size() && i < 4; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(plan.cpus[i]);
  }
  if (plan.cpus.size() > 4) {
    text += ", ... " + std::to_string(plan.cpus.back()) + " (" +
            std::to_string(plan.cpus.size()) + " CPUs)";
  }
  return (plan.cpus.size() == 1 ? "CPU " : "CPUs ") + text;
}

void print_measurement(const ProbedNode& node, std::FILE* to) {
  const NodePlan& plan = *node.plan;
  std::fprintf(to, "%sfrom %s, through %s (their caches: %s)\n", kIndent,
               cpus_of(plan).c_str(),
               show_bytes(static_cast<double>(node.figures->through)).c_str(),
               show_bytes(static_cast<double>(plan.caches)).c_str());
  const auto& around = node.figures->write_around_bytes_per_s;
  const double ordinary = node.figures->write_bytes_per_s.median;
  if (!around) return;
  std::fprintf(to,
               "%swrites: ordinary stores %.2f GB/s, non-temporal %.2f GB/s; "
               "the better counts\n",
               kIndent, ordinary / 1e9, around->median / 1e9);
}

void print_declared(const Tier& declared, std::FILE* to) {
  std::string text;
  for (const Figure& figure : kFigures) {
    const double value = declared.*figure.value;
    if (value <= 0) continue;
    char one[64];
    std::snprintf(one, sizeof one,
                  figure.latency ? "%s %.0f ns" : "%s %.1f GB/s", figure.hmat,
                  figure.latency ? value : value / 1e9);
    text += (text.empty() ? "" : ", ") + std::string(one);
  }
  if (text.empty()) return;
  std::fprintf(to, "%sthe firmware (HMAT) says %s\n", kIndent, text.c_str());
}

Json measured_json(const Measured& measured) {
  return {{"median", measured.median},
          {"spread", measured.spread},
          {"repeats", measured.repeats}};
}

Json declared_json(const Tier& tier) {
  Json json = Json::object();
  for (const Figure& figure : kFigures) {
    if (tier.*figure.value > 0) json[figure.name] = tier.*figure.value;
  }
  return json;
}

Json node_json(const ProbedNode& node, const Machine& machine) {
  const TierId tier = machine.tier_of_node(node.declared.id);
  Json json{{"node", node.declared.id}, {"tier", machine.tiers[tier].name}};
  if (node.plan) {
    json["cpus"] = node.plan->cpus;
    json["cache_bytes"] = node.plan->caches;
  }
  if (node.figures) {
    const NodeFigures& figures = *node.figures;
    json["bytes"] = figures.through;
    json["ran"] = figures.ran;
    json["read_ns"] = measured_json(figures.read_ns);
    json["read_bytes_per_s"] = measured_json(figures.read_bytes_per_s);
    json["write_bytes_per_s"] = {
        {"ordinary", measured_json(figures.write_bytes_per_s)}};
    if (figures.write_around_bytes_per_s) {
      json["write_bytes_per_s"]["non_temporal"] =
          measured_json(*figures.write_around_bytes_per_s);
    }
  }
  json["hmat"] = declared_json(node.declared.tier);
  json["notes"] = node.notes;
  return json;
}

}  // namespace

void print_text(const ProbeReport& report, std::FILE* to) {
  const Machine& machine = report.machine;
  std::fprintf(to, "%s%s\n", machine.name.c_str(),
               machine.emulated
                   ? ", emulated: figures are by the guest's clock, in which "
                     "waiting for memory is stretched"
                   : "");
  std::fprintf(to, "%4s  %-10s %10s  %-21s  %-23s  %s\n", "node", "tier",
               "capacity", "     read latency", "     read bandwidth",
               "    write bandwidth");
  for (const ProbedNode& node : report.nodes) {
    const Tier& tier = machine.tiers[machine.tier_of_node(node.declared.id)];
    const Origins& origins = tier.origins;
    std::fprintf(
        to, "%4d  %-10s %10s  %s  %s  %s\n", node.declared.id,
        tier.name.c_str(),
        show_bytes(static_cast<double>(node.declared.tier.capacity)).c_str(),
        latency(tier.read_ns, origins.read_ns).c_str(),
        bandwidth(tier.read_bytes_per_s, origins.read_bytes_per_s).c_str(),
        bandwidth(tier.write_bytes_per_s, origins.write_bytes_per_s).c_str());
    if (node.plan && node.figures) {
      print_measurement(node, to);
      print_declared(node.declared.tier, to);
    }
    for (const std::string& note : node.notes) {
      std::fprintf(to, "%snote: %s\n", kIndent, note.c_str());
    }
  }
  print_operations(report.places, to);
  if (report.took_s > 0) {
    std::fprintf(to, "measured for %s\n", show_seconds(report.took_s).c_str());
  }
}

nlohmann::ordered_json to_json(const ProbeReport& report) {
  Json json{{"thermocline", THERMOCLINE_VERSION},
            {"machine", Json::parse(report.machine.to_json())}};
  if (report.took_s > 0) json["measured_s"] = report.took_s;
  json["nodes"] = Json::array();
  for (const ProbedNode& node : report.nodes) {
    json["nodes"].push_back(node_json(node, report.machine));
  }
  if (!report.places.empty()) json.update(operations_json(report.places));
  return json;
}

}  // namespace thermocline
