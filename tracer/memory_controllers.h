// Memory controllers: what a machine's can count of the lines that pass them.
//
// Samples do not show all traffic: lines that a prefetcher fetches in vain, and
// lines that go back because they were written after a load. Controllers count
// every line (CAS commands), through PMUs that are not of a CPU's core:
//   uncore_imc_*   Intel's; events that the kernel describes in sysfs. Behind
//                  the same controllers persistent memory, which has events of
//                  its own (UNC_M_PMM_RPQ_INSERTS, _WPQ_INSERTS of Intel's
//                  lists: 0xe3, 0xe7)
//   amd_umc_*      AMD's since Zen 4; umc_cas_cmd of AMD's lists: event 0xa,
//                  rdwrmask 1 for reads, 2 for writes
// AMD's amd_df before that does not tell reads from writes, and devices on CXL
// count otherwise: both are left alone.
//
// Counts are of all that runs on the machine. Never tried on real hardware: the
// machine that this was written on shows none of these PMUs.
//
// Thread safety: pure but for reading sysfs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thermocline {

// A counter that one of the CPUs it belongs to can open.
struct ControllerEvent {
  std::string pmu;  // "uncore_imc_0"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  int cpu = 0;
  bool write = false;
  bool durable = false;  // of persistent memory
  // Whose memory: the nodes of the CPU's package; of a durable one's, those
  // without CPUs to which no other package is nearer.
  std::vector<int> nodes;
  double lines = 1;  // of 64 bytes, for each count
  bool operator==(const ControllerEvent&) const = default;
};

/// All there are, by name. `root` stands for "/".
std::vector<ControllerEvent> controller_events(const std::string& root);

}  // namespace thermocline
