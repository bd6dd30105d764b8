#include "tracer/import_process.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Bytes kBytesPerProcess = 64;

}  // namespace

void ImportProcess::add(const Sample& sample, std::uint32_t pid,
                        ImportedTrace& out) {
  if (last_ == nullptr || pid != last_pid_) {
    const auto [count, fresh] = samples_.try_emplace(pid, 0);
    if (fresh) out.spend(kBytesPerProcess);
    last_ = &count->second;
    last_pid_ = pid;
  }
  ++*last_;
  if (chosen_ != 0 && pid != chosen_) {
    ++foreign_;
  } else {
    out.add(sample);
  }
}

// The smaller pid of equals, so that the same file gives the same trace.
std::uint32_t ImportProcess::most_samples() const {
  std::uint32_t best = 0;
  std::uint64_t most = 0;
  for (const auto& [pid, count] : samples_) {
    if (count > most || (count == most && pid < best)) best = pid;
    most = std::max(most, count);
  }
  return best;
}

std::string ImportProcess::who(std::uint32_t pid) const {
  const auto name = history_.name_of(pid);
  return "process " + std::to_string(pid) +
         (name.empty() ? "" : " (" + name + ")");
}

Status ImportProcess::finish(ImportedTrace& out) const {
  if (chosen_ != 0 && !samples_.contains(static_cast<std::uint32_t>(chosen_))) {
    return invalid("no sample is of process " + std::to_string(chosen_) +
                   (samples_.empty() ? "; there are none at all"
                                     : "; most are of " + who(most_samples())));
  }
  const auto pid =
      chosen_ != 0 ? static_cast<std::uint32_t>(chosen_) : most_samples();
  auto mappings = history_.mappings_of(pid);
  const auto kept =
      std::min<std::uint64_t>(mappings.size(), history_.mappings());
  for (auto& mapping : mappings) out.add(std::move(mapping));
  const Nanos end = out.trace.end_ns();
  if (samples_.size() > 1 && chosen_ == 0) {
    out.note("samples of " + std::to_string(samples_.size()) +
             " processes are kept, mappings only of " + who(pid) +
             ", which has most; choose one with --pid");
  }
  if (foreign_ > 0) {
    out.note(std::to_string(foreign_) + " samples of other processes than " +
             who(pid) + " were left out");
  }
  out.add(Loss{end, "foreign", foreign_});
  out.add(Loss{end, "mappings", history_.mappings() - kept});
  return {};
}

}  // namespace thermocline
