#include "tests/machine/kinds.h"

#include <linux/perf_event.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using Json = nlohmann::json;

constexpr double kLineBytes = 64;
constexpr double kMaxEntries = 63;  // the core's tables hold 64
constexpr double kMaxWindow = 1e6;
constexpr std::uint64_t kLevelCxl = 0x09;  // newer than the headers of 6.1

// Numbers are {"value": ..., "source": "..."}; one without a source is refused.
double number(const Json& object, const char* key) {
  const Json& entry = object.at(key);
  if (entry.at("source").get<std::string>().empty()) {
    throw std::runtime_error(std::string(key) + " has no source");
  }
  const double value = entry.at("value").get<double>();
  if (!(value > 0)) {
    throw std::runtime_error(std::string(key) + " is not positive");
  }
  return value;
}

Picos picos(double nanoseconds) {
  return static_cast<Picos>(std::llround(nanoseconds * 1000));
}

std::uint64_t data_source(const std::string& level) {
  perf_mem_data_src source{};
  source.mem_snoop = PERF_MEM_SNOOP_NONE;
  source.mem_lock = PERF_MEM_LOCK_NA;
  source.mem_dtlb = PERF_MEM_TLB_NA;
  source.mem_blk = PERF_MEM_BLK_NA;
  if (level == "ram") {
    source.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM;
    source.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
  } else if (level == "remote-ram") {
    source.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM1;
    source.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
    source.mem_remote = PERF_MEM_REMOTE_REMOTE;
  } else if (level == "pmem") {
    source.mem_lvl_num = PERF_MEM_LVLNUM_PMEM;
  } else if (level == "cxl") {
    source.mem_lvl_num = kLevelCxl;
  } else {
    throw std::runtime_error("level \"" + level +
                             "\" is none of ram, remote-ram, pmem, cxl");
  }
  return source.val;
}

MemoryKind memory(const std::string& name, const Json& entry) {
  MemoryKind kind;
  kind.name = name;
  kind.latency = picos(number(entry, "read_latency_ns"));
  kind.read_occupancy = picos(kLineBytes / number(entry, "read_gb_per_s"));
  kind.write_occupancy = picos(kLineBytes / number(entry, "write_gb_per_s"));
  kind.data_source = data_source(entry.at("level").get<std::string>());
  return kind;
}

CoreKind core(const Json& entry) {
  CoreKind kind;
  const double cycle_ns = 1 / number(entry, "ghz");
  kind.per_cycle = picos(cycle_ns);
  kind.per_instruction =
      picos(cycle_ns * number(entry, "cycles_per_instruction"));
  const auto count = [&](const char* key, double limit = kMaxEntries) {
    const double value = number(entry, key);
    if (value > limit) throw std::runtime_error(std::string(key) + " is huge");
    return static_cast<unsigned>(value);
  };
  kind.loads_in_flight = count("loads_in_flight");
  kind.window_instructions = count("window_instructions", kMaxWindow);
  kind.store_buffer = count("store_buffer");
  kind.writebacks = count("writebacks");
  kind.streams = count("streams");
  kind.prefetch_lines = count("prefetch_lines");
  return kind;
}

}  // namespace

const MemoryKind* Kinds::find(const std::string& name) const {
  for (const MemoryKind& kind : memories) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

bool read_kinds(const std::string& path, Kinds& kinds, std::string& error) {
  std::ifstream file(path);
  if (!file) {
    error = "cannot open " + path;
    return false;
  }
  try {
    const Json json = Json::parse(file);
    kinds.core = core(json.at("core"));
    kinds.memories.clear();
    for (const auto& [name, entry] : json.at("kinds").items()) {
      kinds.memories.push_back(memory(name, entry));
    }
  } catch (const std::exception& failure) {
    error = path + ": " + failure.what();
    return false;
  }
  return true;
}

}  // namespace thermocline
