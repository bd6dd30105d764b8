// The real pair of LULESH runs on a Xeon Phi 7250 (all in DDR4, all in
// MCDRAM) by the authors of the differential estimate. The data state no
// licence and are therefore not part of this tree: they are looked for in
// $THERMOCLINE_SHARED_DATA, else in ../shared/data beside the source tree.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "tests/estimator/synthetic.h"

namespace thermocline {

/// Where the run with that memory ("ddr", "mcdram") is, if it is.
inline std::filesystem::path knl_lulesh(const std::string& memory) {
  namespace fs = std::filesystem;
  const char* given = std::getenv("THERMOCLINE_SHARED_DATA");
  const fs::path folder = given != nullptr
                              ? fs::path(given)
                              : fs::path(source_dir()) / "../shared/data";
  return folder / ("knl_lulesh_" + memory + ".csv.gz");
}

/// The trace that `path` holds: columns tsc_cycles (1.4 GHz) and vaddr. A few
/// samples have addresses that no process can have; left out unless `garbage`.
inline Trace read_knl(const std::filesystem::path& path,
                      const std::string& placement, bool garbage = false) {
  struct Close {
    void operator()(std::FILE* file) const { pclose(file); }
  };
  Trace trace;
  trace.info.command = {"lulesh2.0"};
  trace.info.placement = placement;
  trace.info.machine = two_tiers().to_json();
  const std::string command = "gzip -dc '" + path.string() + "'";
  std::unique_ptr<std::FILE, Close> pipe(popen(command.c_str(), "r"));
  std::array<char, 256> line{};
  std::map<Address, bool> pages;
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    unsigned long long cycles = 0;
    unsigned long long address = 0;
    if (std::sscanf(line.data(), "%llu,%llx", &cycles, &address) != 2) {
      continue;  // the heading
    }
    if (!garbage && address >= Address{1} << 47) continue;
    Sample sample;
    sample.time = std::llround(static_cast<double>(cycles) / 1.4);
    sample.address = address;
    sample.period = 32;
    trace.samples.push_back(sample);
    pages[address >> 12] = true;
  }
  for (const auto& [page, unused] : pages) {
    trace.mappings.push_back({0, page << 12, (page + 1) << 12, "rw-p", ""});
  }
  trace.marks.push_back({0, "start"});
  if (!trace.samples.empty()) {
    trace.end = {true, 0, trace.samples.back().time};
  }
  trace.sort();
  return trace;
}

}  // namespace thermocline
