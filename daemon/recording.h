// Recording: what is seen of a running job, on its way into a trace.
//
// Hears the sampler, the tensor observer and /proc/PID/maps, and puts every
// time on the sampler's clock. A trace is of one process; which, where the job
// is several, TracedProcess says. What is left out is counted.
//
// Thread safety: none. Memory: what the limits say, beside TraceWriter's blocks
// (4 MiB of each kind), one batch of the sampler (RingMemory: 128 KiB a CPU;
// stream: 4 MiB) and what ObserverServer decodes a call (1 MiB) and remembers.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/clock_map.h"
#include "daemon/living_tensors.h"
#include "daemon/recorder.h"
#include "daemon/syscalls.h"
#include "daemon/traced_process.h"
#include "tracer/maps.h"
#include "tracer/observer_server.h"
#include "tracer/sampler.h"
#include "traces/address_map.h"
#include "traces/trace_file.h"

namespace thermocline {

class Recording {
 public:
  /// `job`: the process that was started. `observer`: none where tensors are
  /// not recorded.
  Recording(TraceWriter writer, std::unique_ptr<Sampler> sampler, int job,
            const RecordOptions& options,
            std::optional<ObserverServer> observer);

  RecordReport report;

  /// Readable when take() has something to do; -1: none.
  std::array<int, 2> descriptors() const;
  /// The job starts now.
  Status begin();
  /// Takes in all that has arrived.
  Status take();
  /// Rereads the mappings and attributes the samples gathered since, once it
  /// is settled whose they are to be.
  void attribute();
  /// Puts what is known on disk.
  Status flush();
  /// The job has ended.
  Result<RecordReport> finish(int exit_status);

 private:
  using Clock = std::chrono::steady_clock;

  bool is_virtual() const { return sampler_->clock() == "virtual"; }
  Nanos stream_now() const;
  Nanos on_stream(Nanos monotonic) const;
  double wall_s() const;
  bool of_another(std::uint32_t pid) const;

  Status drain(bool keep);
  void gather(const SampleBatch& batch);
  void note_losses(const SampleBatch& batch);
  void hear(const ObserverEvent& event);
  void hear(const Tensor& tensor);
  void note_areas(const Maps& maps);
  void note_footprint();
  void write_living();
  void tell_left_out();

  TraceWriter writer_;
  std::unique_ptr<Sampler> sampler_;
  const bool streams_;
  std::optional<ObserverServer> observer_;
  ObserverFigures figures_;
  const RecordingLimits limits_;
  ClockMap clock_;
  TracedProcess traced_;
  LivingTensors living_;
  std::unique_ptr<Kernel> kernel_ = open_kernel();
  Clock::time_point began_ = Clock::now();
  Nanos start_ = 0;
  Nanos newest_ = -1;
  bool ended_ = false;                                     // the source
  std::vector<std::pair<Sample, std::uint32_t>> pending_;  // and its process
  std::vector<SeenSequence> pending_sequences_;
  std::size_t pending_accesses_ = 0;  // of them
  std::map<Address, Area> seen_;      // by start
  AddressMap mine_;                   // object 0: all that the job ever mapped
  std::size_t mine_added_ = 0;
  std::uint64_t other_samples_ = 0;  // of other processes
  std::uint64_t other_events_ = 0;
  std::uint64_t areas_left_out_ = 0;  // the most at one time
  std::uint64_t spans_left_out_ = 0;
  std::map<std::string, std::uint64_t> told_;  // of these, by their source
};

}  // namespace thermocline
