#include "daemon/evaluate_grid.h"

#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

struct Grid {
  const char* policy;
  const char* options;  // option -> values to try
};

// Values around the defaults, which are those of the papers or their code, and
// as far as other systems went with the same knob.
constexpr Grid kGrids[] = {
    // HeMem: 4, 4 and 10 by its code. HybridTier adapts from 3 up, and
    // memory-optimizer asks for ten times the average. `coolings` 64 cools as
    // often as HeMem would, 1 once a window; a margin of 1000 never swaps the
    // hot.
    {"hottest_first", R"({"read_threshold": [1, 4, 16],
                          "write_threshold": [1, 4, 16],
                          "cooling_threshold": [10, 40],
                          "coolings": [64, 1],
                          "swap_margin": [0.2, 1, 1000]})"},
    // MEMTIS: halves each 2,000,000 samples, of 199 accesses (its periods go to
    // 19,997); its ablation is without the warm band. 2 to 3 % stay free.
    {"histogram", R"({"sample": [1, 199, 19997],
                      "cooling": [2e4, 2e5, 2e6],
                      "warm": [true, false],
                      "fill": [0.97, 1.0]})"},
    // ARMS: 1 s and 10 s, 0.4, margin 1.5 by its code, for jobs of minutes.
    {"recency_frequency", R"({"short_s": [0.01, 0.1, 1],
                              "long_s": [0.1, 1, 10],
                              "recency": [0.4, 0.731],
                              "margin": [0.1, 0.5, 1.5]})"},
    // Linux: weights by bandwidth; otherwise numactl's usual ratios.
    {"interleave", R"({"weights": ["1,1", "2,1", "3,1", "4,1", "9,1"]})"},
    // Wei: partitions of 10 operators, two of them, by the code.
    {"next_use", R"({"partition_operators": [3, 5, 10, 20, 40],
                     "keep_partitions": [1, 2, 4]})"},
    // Sentinel searches its interval itself; left are the sizes of its pages.
    {"sentinel", R"({"page_bytes": [4096, 65536, 2097152]})"},
    // AutoTM: the paper's two programs for CPUs.
    {"autotm", R"({"mode": ["synchronous", "static"]})"},
};

}  // namespace

std::vector<std::string> tuning_grid(const std::string& policy) {
  std::vector<std::string> out{"{}"};
  for (const Grid& grid : kGrids) {
    if (policy != grid.policy) continue;
    std::vector<Json> all{Json::object()};
    const Json options = Json::parse(grid.options);
    for (const auto& [name, values] : options.items()) {
      std::vector<Json> more;
      for (const Json& one : all) {
        for (const Json& value : values) {
          more.push_back(one);
          more.back()[name] = value;
        }
      }
      all = std::move(more);
    }
    for (const Json& one : all) out.push_back(one.dump());
  }
  return out;
}

}  // namespace thermocline
