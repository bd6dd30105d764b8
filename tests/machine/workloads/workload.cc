#include "tests/machine/workloads/workload.h"

namespace thermocline {

std::map<std::string, WorkloadKind>& workloads() {
  static std::map<std::string, WorkloadKind> all;
  return all;
}

}  // namespace thermocline
