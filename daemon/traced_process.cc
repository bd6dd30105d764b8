#include "daemon/traced_process.h"

namespace thermocline {

void TracedProcess::has_torch(int pid) {
  if (by_torch_ && pid != job_) return;
  pid_ = pid;
  by_torch_ = settled_ = true;
}

void TracedProcess::sampled(std::uint32_t sampled_pid) {
  if (by_torch_) return;
  const int pid = static_cast<int>(sampled_pid);
  if (samples_.size() >= kMostProcesses && !samples_.contains(pid)) return;
  const auto count = ++samples_[pid];
  settled_ = ++all_ >= kEnough || settled_;
  if (pid == pid_) return;
  const auto present = samples_[pid_];
  if (count > (settled_ ? 2 * present : present)) pid_ = pid;
}

}  // namespace thermocline
