// Jobs whose times are known, as trace files for the command line.
#pragma once

#include "tests/daemon/commands.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {

class RecordedJobs : public Commands {
 protected:
  std::string write(const std::string& name, const Trace& trace) const {
    EXPECT_TRUE(write_trace(scratch / name, trace, true).has_value());
    return scratch / name;
  }
  std::string chain() const { return write("chain.trace", ChainJob().trace()); }
  std::string pages(const std::string& placement, Nanos ns) const {
    SyntheticJob job;
    job.objects = 4;
    job.machine.tiers[0].read_ns = job.machine.tiers[0].write_ns = 80;
    job.machine.tiers[1].read_ns = job.machine.tiers[1].write_ns = 300;
    job.phases = {{1000000, {{0, 2000, 0}, {3, 6000, 0}}}};
    return write(placement + ".trace", job.run(placement, {ns}));
  }
};

}  // namespace thermocline
