#include "daemon/recorder.h"

#include <poll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "daemon/clock_map.h"
#include "daemon/job.h"
#include "daemon/paths.h"
#include "daemon/placement.h"
#include "daemon/scratch.h"
#include "daemon/stop_signals.h"
#include "daemon/syscalls.h"
#include "tracer/maps.h"
#include "tracer/observer_server.h"
#include "tracer/sampler.h"
#include "traces/address_map.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Recording {
 public:
  Recording(TraceWriter writer, std::unique_ptr<Sampler> sampler,
            std::optional<ObserverServer> observer)
      : writer_(std::move(writer)),
        sampler_(std::move(sampler)),
        observer_(std::move(observer)) {}

  RecordReport report;

  std::array<int, 2> descriptors() const {
    return {sampler_->descriptor(), observer_ ? observer_->descriptor() : -1};
  }

  Status begin(int pid) {
    pid_ = pid;
    began_ = Clock::now();
    // What the stream held before the job started is not the job's.
    if (auto old = drain(/*keep=*/false); !old) return old.error();
    start_ = stream_now();
    writer_.add(Mark{start_, "start"});
    return {};
  }

  // Takes in all that has arrived.
  Status take() {
    if (auto status = drain(/*keep=*/true); !status) return status.error();
    if (observer_) {
      for (const auto& event : observer_->poll()) hear(event);
    }
    return {};
  }

  // Rereads the mappings and attributes the samples gathered since.
  void attribute() {
    const auto text =
        kernel_->read_file("proc/" + std::to_string(traced()) + "/maps");
    if (text) note_areas(parse_maps(*text));
    note_footprint();
    for (const auto& sample : pending_) {
      if (sampler_->unattributed() && !is_mine(sample.address)) {
        ++report.foreign;
        continue;
      }
      writer_.add(sample);
      ++report.samples;
    }
    pending_.clear();
  }

  Result<RecordReport> finish(int exit_status) {
    if (auto status = take(); !status) return status.error();
    attribute();
    write_living();
    const Nanos end = stream_now();
    if (others_ > 0) {
      writer_.add(Loss{end, "observer.other_processes", others_});
    }
    writer_.add(Mark{end, "end"});
    report.exit_status = exit_status;
    report.run_ns = end - start_;
    report.clock = sampler_->clock();
    report.wall_s = wall_s();
    if (auto done = writer_.finish(
            {true, exit_status, report.run_ns, report.peak_private_bytes});
        !done) {
      return done.error();
    }
    report.file_bytes = writer_.bytes();
    return report;
  }

  Status flush() {
    write_living();
    report.wall_s = wall_s();
    report.file_bytes = writer_.bytes();
    return writer_.flush();
  }

 private:
  // Those that outlive a flush are few, and must outlive us, too.
  void write_living() {
    for (const ObjectId serial : unwritten_) {
      const auto at = alive_.find(serial);
      if (at != alive_.end()) writer_.add(at->second);
    }
    unwritten_.clear();
  }

  double wall_s() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }

  bool is_virtual() const { return sampler_->clock() == "virtual"; }
  Nanos stream_now() const {
    return is_virtual() ? std::max<Nanos>(newest_, 0) : kernel_->now();
  }
  Nanos on_stream(Nanos monotonic) const {
    return is_virtual() ? clock_.to_stream(monotonic) : monotonic;
  }

  Status drain(bool keep) {
    // A stream may carry samples of the whole machine; a source that was opened
    // for the job has only its own and its children's.
    const bool streams = sampler_->kind() == "stream";
    for (;;) {
      auto batch = sampler_->read(milliseconds(0));
      if (!batch) return batch.error();
      if (batch->newest >= 0) {
        newest_ = std::max(newest_, batch->newest);
        clock_.add(kernel_->now(), newest_);
      }
      note_losses(*batch);
      for (const auto& change : batch->periods) writer_.add(change);
      report.foreign += batch->foreign;
      if (batch->samples.empty() && batch->counters.empty()) return {};
      if (!keep) continue;
      for (const auto& counters : batch->counters) writer_.add(counters);
      for (std::size_t i = 0; i < batch->samples.size(); ++i) {
        if (streams && !batch->pids.empty() && of_another(batch->pids[i])) {
          ++report.foreign;
        } else {
          pending_.push_back(batch->samples[i]);
        }
      }
    }
  }

  // A trace is of one process: the job's own or, where that is only a launcher
  // (a shell script), the first with LibTorch. What others say is counted.
  int traced() const { return tensors_of_ != 0 ? tensors_of_ : pid_; }

  bool of_another(std::uint32_t pid) const {
    constexpr std::uint32_t kNotTold = 0xffffffff;
    return pid != kNotTold && pid != static_cast<std::uint32_t>(traced());
  }

  bool is_mine(Address address) const {
    return mine_.find(address) != AddressMap::kNone;
  }

  // By event where that is known; what remains is the source's as a whole.
  void note_losses(const SampleBatch& batch) {
    const auto note = [this](const std::string& source, std::uint64_t count) {
      if (count > 0) writer_.add(Loss{stream_now(), source, count});
    };
    auto lost = batch.lost, throttled = batch.throttled;
    for (const auto& one : batch.shortfalls) {
      note("samples:" + one.event, one.lost);
      note("throttled:" + one.event, one.throttled);
      lost -= one.lost;
      throttled -= one.throttled;
    }
    note("samples", lost);
    note("throttled", throttled);
    note("malformed", batch.malformed);
    report.lost += batch.lost;
  }

  void hear(const ObserverEvent& event) {
    if (std::holds_alternative<ObserverHello>(event.what) &&
        (tensors_of_ == 0 || event.pid == pid_)) {
      tensors_of_ = event.pid;
    }
    if (event.pid != tensors_of_) {
      ++others_;
      return;
    }
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      Tensor born = *tensor;
      born.born = on_stream(born.born);
      alive_.emplace(born.serial, born);
      unwritten_.push_back(born.serial);
      ++report.tensors;
    } else if (const auto* died = std::get_if<TensorDied>(&event.what)) {
      const auto at = alive_.find(died->serial);
      if (at == alive_.end()) return;
      at->second.died = on_stream(died->time);
      writer_.add(at->second);
      alive_.erase(at);
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      Operator moved = *op;
      moved.start = on_stream(moved.start);
      moved.end = on_stream(moved.end);
      writer_.add(moved);
      ++report.operators;
    } else if (const auto* mark = std::get_if<Mark>(&event.what)) {
      writer_.add(Mark{on_stream(mark->time), mark->name});
    } else if (const auto* loss = std::get_if<Loss>(&event.what)) {
      writer_.add(Loss{on_stream(loss->time), loss->source, loss->count});
      report.lost += loss->count;
    }
  }

  // Writes the areas that are new or have changed, and widens what is ours.
  void note_areas(const Maps& maps) {
    for (const auto& area : maps.areas) {
      const auto [at, fresh] = seen_.try_emplace(area.start, area);
      if (!fresh && at->second.end == area.end &&
          at->second.permissions == area.permissions &&
          at->second.name == area.name) {
        continue;
      }
      at->second = area;
      writer_.add(Mapping{stream_now(), area.start, area.end, area.permissions,
                          area.name});
      mine_.insert(area.start, area.end, 0);
    }
  }

  void note_footprint() {
    const auto text =
        kernel_->read_file("proc/" + std::to_string(traced()) + "/status");
    if (!text) return;
    const auto field = [&text](const char* name) -> Bytes {
      const auto at = text->find(name);
      if (at == std::string::npos) return 0;
      return std::strtoull(text->c_str() + at + std::strlen(name), nullptr,
                           10) *
             1024;
    };
    report.peak_bytes = std::max(report.peak_bytes, field("VmRSS:"));
    report.peak_private_bytes =
        std::max(report.peak_private_bytes, field("RssAnon:"));
  }

  TraceWriter writer_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<ObserverServer> observer_;
  ClockMap clock_;
  int pid_ = 0;
  int tensors_of_ = 0;  // the process whose tensors are recorded; 0: none yet
  std::uint64_t others_ = 0;  // events of other processes
  Clock::time_point began_ = Clock::now();
  Nanos start_ = 0;
  Nanos newest_ = -1;
  std::unique_ptr<Kernel> kernel_ = open_kernel();
  std::map<Address, Area> seen_;  // by start
  AddressMap mine_;               // all that was ever mapped, as one object
  std::vector<Sample> pending_;
  std::map<ObjectId, Tensor> alive_;
  std::vector<ObjectId> unwritten_;  // born since the last flush
};

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

}  // namespace

Result<RecordReport> record(
    const RecordOptions& options,
    const std::function<void(const RecordReport&)>& progress) {
  auto bind = birth_nodes(options.placement, options.machine);
  if (!bind) return bind.error();

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
        {"THERMOCLINE_OBSERVER", scratch.path() + "/observer.sock"}};
  }
  auto job = Job::start(std::move(start));
  if (!job) return job.error();
  auto sampler = open_sampler(options.source, job->pid());
  if (!sampler) return sampler.error();

  if (options.source == "stream") {
    if (auto begun = await_sampling(**sampler, milliseconds(10'000)); !begun)
      return begun.error();
  }
  // A stream says in its header which clock it runs on.
  const bool streams = (*sampler)->descriptor() >= 0;
  if (auto header = (*sampler)->read(milliseconds(streams ? 500 : 0));
      !header) {
    return header.error();
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

  Recording recording(std::move(*writer), std::move(*sampler),
                      std::move(observer));
  if (auto status = recording.begin(job->pid()); !status) {
    return status.error();
  }
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
