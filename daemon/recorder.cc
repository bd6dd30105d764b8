#include "daemon/recorder.h"

#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "daemon/job.h"
#include "daemon/own_memory.h"
#include "daemon/paths.h"
#include "daemon/placement.h"
#include "daemon/recording.h"
#include "daemon/scratch.h"
#include "daemon/stop_signals.h"
#include "tracer/line_counters.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string host_line() {
  utsname name{};
  uname(&name);
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

// Until the job ends; signals are passed on to it.
Result<int> watch(Recording& recording, Job& job, int signals,
                  const std::function<void(const RecordReport&)>& progress) {
  const auto sources = recording.descriptors();
  auto next_maps = Clock::now();
  auto next_report = Clock::now();
  for (;;) {
    std::array<pollfd, 4> waits{{{job.descriptor(), POLLIN, 0},
                                 {signals, POLLIN, 0},
                                 {sources[0], POLLIN, 0},
                                 {sources[1], POLLIN, 0}}};
    poll(waits.data(), waits.size(), 20);
    if ((waits[1].revents & POLLIN) != 0) job.pass_on(signals);
    if (auto status = recording.take(); !status) return status.error();
    const auto now = Clock::now();
    if (now >= next_maps) {
      recording.attribute();
      next_maps = now + milliseconds(100);
    }
    if (now >= next_report) {
      if (auto status = recording.flush(); !status) return status.error();
      progress(recording.report);
      next_report = now + milliseconds(500);
    }
    if ((waits[0].revents & POLLIN) != 0) return job.wait();
  }
}

// Has the sampler count the lines of memory controllers, too. Returns: why it
// does not; empty: it does.
std::string add_lines(const Machine& machine,
                      std::unique_ptr<Sampler>& sampler) {
  auto counters =
      LineCounters::open(machine, controller_events(""), open_controller);
  if (!counters) return counters.error().message;
  const std::shared_ptr<Kernel> kernel = open_kernel();
  sampler = with_lines(std::move(sampler), *std::move(counters),
                       [kernel] { return kernel->now(); });
  return "";
}

// Where the job is bound to slow memory, own memory is fast, else slow.
// Returns: false when the kernel refuses.
bool stay_out_of_the_way(const std::vector<int>& bound,
                         const Machine& machine) {
  if (bound.empty() || bound == machine.tiers.front().nodes) {
    return prefer_slowest(machine);
  }
  return prefer_tier(machine, 0);
}

}  // namespace

Result<RecordReport> record(
    const RecordOptions& options,
    const std::function<void(const RecordReport&)>& progress) {
  auto bind = birth_nodes(options.placement, options.machine);
  if (!bind) return bind.error();

  auto aggregate = aggregate_setting(options.aggregate);
  if (!aggregate) return aggregate.error();
  if (!aggregate->empty() && !options.tensors) {
    return invalid(
        "--aggregate needs the tensor observer: not with --no-tensors");
  }
  const int signals = stop_signals();

  ScratchDirectory scratch;
  Job::Options start;
  start.command = options.command;
  start.bind_nodes = *bind;
  start.fixed_addresses = options.fixed_addresses;
  start.no_input = options.source == "stream";  // that is the samples'
  std::optional<ObserverServer> observer;
  if (options.tensors) {
    const auto library = beside_program("lib/thermocline_observer.so");
    if (access(library.c_str(), R_OK) != 0) {
      return not_found(library + " is missing; build it, or use --no-tensors");
    }
    auto listening = ObserverServer::listen(scratch.path() + "/observer.sock");
    if (!listening) return listening.error();
    observer = std::move(*listening);
    start.environment = {
        {"LD_PRELOAD", library},
        {"THERMOCLINE_OBSERVER", scratch.path() + "/observer.sock"},
        {kAggregateVariable, *aggregate}};
  }
  auto job = Job::start(std::move(start));
  if (!job) return job.error();
  // The job, forked by now, does not inherit it.
  const bool apart_refused = !stay_out_of_the_way(*bind, options.machine);
  auto sampler = open_sampler(options.source, job->pid(), /*children=*/true);
  if (!sampler) return sampler.error();

  std::string untold = "only --source perf has memory controllers counted";
  if ((*sampler)->kind() == "perf") {
    untold = add_lines(options.machine, *sampler);
  }
  if (options.source == "stream") {
    if (auto begun = await_sampling(**sampler, milliseconds(10'000)); !begun)
      return begun.error();
  }
  if (options.source.starts_with("stream")) {
    // It says in its header which clock it runs on.
    auto header = (*sampler)->read(milliseconds(500));
    if (!header) return header.error();
  }

  Trace::Info info;
  info.command = options.command;
  info.clock = (*sampler)->clock();
  info.machine = options.machine.to_json();
  info.placement = options.placement;
  info.host = host_line();
  info.page_bytes = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  info.emulated = options.machine.emulated;
  info.source = (*sampler)->kind();
  auto writer = TraceWriter::create(options.output, info, options.replace);
  if (!writer) return writer.error();

  Recording recording(std::move(*writer), std::move(*sampler), job->pid(),
                      options, std::move(observer));
  recording.report.lines_untold = untold;
  recording.report.apart_refused = apart_refused;
  if (auto status = recording.begin(); !status) return status.error();
  if (auto status = job->release(); !status) {
    std::error_code ignored;
    std::filesystem::remove(options.output, ignored);
    return status.error();
  }
  auto ended = watch(recording, *job, signals, progress);
  close(signals);
  if (!ended) return ended.error();
  return recording.finish(*ended);
}

}  // namespace thermocline
