// Which tiers served a job, over its run.
//
// From what the trace has: counters of the tiers' links (lines that passed),
// counters of misses by tier, and where each sample's data came from.
//
// Thread safety: pure function, plain values. One entry a bin.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/report_bins.h"

namespace thermocline {

struct Traffic {
  struct Link {  // of a tier, fastest first
    std::vector<double> read_bytes;
    std::vector<double> written_bytes;
    std::vector<double> misses;
  };
  bool lines = false;   // read_bytes and written_bytes are known
  bool misses = false;  // misses are
  std::vector<Link> links;
  // Accesses (samples times period) by where their data came from: "dram",
  // "pmem", ...; only the sources that occur.
  std::map<std::string, std::vector<double>> served;
};

/// Requires: the trace is sorted. What passed between two readings of a CPU's
/// counters is taken to have passed evenly.
Traffic traffic_over_time(const Trace& trace, const TimeBins& bins);

/// `tiers`: names of the links, as far as they are known.
nlohmann::ordered_json to_json(const Traffic& traffic,
                               const std::vector<std::string>& tiers);

}  // namespace thermocline
