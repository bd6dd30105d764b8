#include "daemon/recording.h"

#include <algorithm>

#include "daemon/process.h"
#include "tracer/sequence_builder.h"
#include "traces/leave_out.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

// A launcher has started its job by then.
constexpr auto kSettled = std::chrono::seconds(1);
// Tensors born since the last flush: more are written before it.
constexpr std::size_t kManyBirths = 1 << 16;
// A stream tells of one CPU after the other.
constexpr Nanos kApart = 500'000'000;
constexpr std::uint32_t kNotTold = 0xffffffff;

// Leaves out what lies outside `mine`: of a stream that tells of no process it
// is another's.
void keep_own(AccessSequence& sequence, const AddressMap& mine) {
  leave_out(sequence, [&](const SequencedAccess& access) {
    return mine.find(access.address) == AddressMap::kNone;
  });
}

}  // namespace

Recording::Recording(TraceWriter writer, std::unique_ptr<Sampler> sampler,
                     int job, const RecordOptions& options,
                     std::optional<ObserverServer> observer)
    : writer_(std::move(writer)),
      sampler_(std::move(sampler)),
      streams_(sampler_->kind() == "stream"),
      observer_(std::move(observer)),
      limits_(options.limits),
      traced_(job),
      living_(options.limits.tensors) {
  // Others have the job's own samples only.
  if (sampler_->kind() != "perf") traced_.settle();
}

std::array<int, 2> Recording::descriptors() const {
  return {sampler_->descriptor(), observer_ ? observer_->descriptor() : -1};
}

Status Recording::begin() {
  began_ = Clock::now();
  // What the stream held before the job started is not the job's.
  if (auto old = drain(/*keep=*/false); !old) return old.error();
  start_ = stream_now();
  writer_.add(Mark{start_, "start"});
  return {};
}

Status Recording::take() {
  if (auto status = drain(/*keep=*/true); !status) return status.error();
  if (observer_) {
    observer_->poll([this](const ObserverEvent& event) { hear(event); });
  }
  return {};
}

void Recording::attribute() {
  if (Clock::now() - began_ > kSettled) traced_.settle();
  const auto text =
      kernel_->read_file("proc/" + std::to_string(traced_.pid()) + "/maps");
  if (text) note_areas(parse_maps(*text));
  note_footprint();
  if (!traced_.settled()) return;
  for (const auto& [sample, pid] : pending_) {
    if (of_another(pid)) {
      ++other_samples_;
      ++report.foreign;
    } else if (sampler_->unattributed() &&
               mine_.find(sample.address) == AddressMap::kNone) {
      ++report.foreign;
    } else {
      writer_.add(sample);
      ++report.samples;
    }
  }
  pending_.clear();
  for (auto& [sequence, pid] : pending_sequences_) {
    if (of_another(pid)) continue;
    if (sampler_->unattributed()) keep_own(sequence, mine_);
    if (sequence.accesses.size() < SequenceBuilder::kFewest) continue;
    writer_.add(sequence);
    ++report.sequences;
  }
  pending_sequences_.clear();
  pending_accesses_ = 0;
}

Result<RecordReport> Recording::finish(int exit_status) {
  if (auto status = take(); !status) return status.error();
  traced_.settle();
  attribute();
  write_living();
  const Nanos end = stream_now();
  tell_left_out();
  if (streams_ && !ended_ && !is_virtual()) {
    // What its writer holds back is missing, and nobody can say how much.
    writer_.add(Loss{end, "stream.open", 1});
  }
  writer_.add(Mark{end, "end"});
  report.exit_status = exit_status;
  report.figures = figures_.of(traced_.pid());
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

Status Recording::flush() {
  write_living();
  tell_left_out();
  report.wall_s = wall_s();
  report.file_bytes = writer_.bytes();
  return writer_.flush();
}

// Those that outlive a flush are few, and must outlive us, too.
void Recording::write_living() {
  living_.write_new([this](const Tensor& tensor) { writer_.add(tensor); });
}

// Counts in the trace what was left out since it was last told.
void Recording::tell_left_out() {
  const auto tell = [this](const char* source, std::uint64_t count) {
    auto& told = told_[source];
    if (count == told) return;
    writer_.add(Loss{stream_now(), source, count - told});
    told = count;
  };
  tell("other_processes", other_samples_);
  tell("observer.other_processes", other_events_);
  tell("recorder.tensors", living_.left_out());
  tell("recorder.mappings", areas_left_out_ + spans_left_out_);
}

double Recording::wall_s() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

Nanos Recording::stream_now() const {
  return is_virtual() ? std::max<Nanos>(newest_, 0) : kernel_->now();
}

Nanos Recording::on_stream(Nanos monotonic) const {
  return is_virtual() ? clock_.to_stream(monotonic) : monotonic;
}

// Until nothing is there, or what came is newer than the call: more may come
// faster than we can read it.
Status Recording::drain(bool keep) {
  const Nanos until = kernel_->now() + kApart;
  for (;;) {
    auto batch = sampler_->read(milliseconds(0));
    if (!batch) return batch.error();
    if (batch->newest >= 0) {
      newest_ = std::max(newest_, batch->newest);
      clock_.add(kernel_->now(), newest_);
    }
    note_losses(*batch);
    ended_ = ended_ || batch->ended;
    for (const auto& change : batch->periods) writer_.add(change);
    report.foreign += batch->foreign;
    if (batch->samples.empty() && batch->counters.empty() &&
        batch->sequences.empty()) {
      return {};
    }
    if (keep) gather(*batch);
    if (!is_virtual() && newest_ >= until) return {};
  }
}

// A stream may carry samples of the whole machine; a source that was opened
// for the job has only its own and its children's.
void Recording::gather(const SampleBatch& batch) {
  for (const auto& counters : batch.counters) writer_.add(counters);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const auto pid = batch.pids.empty() ? kNotTold : batch.pids[i];
    if (streams_ && of_another(pid)) {
      ++report.foreign;
      continue;
    }
    if (pid != kNotTold) traced_.sampled(pid);
    pending_.emplace_back(batch.samples[i], pid);
  }
  for (const auto& seen : batch.sequences) {
    if (streams_ && of_another(seen.pid)) continue;
    pending_accesses_ += seen.sequence.accesses.size();
    pending_sequences_.push_back(seen);
  }
  if (pending_.size() + pending_accesses_ < limits_.samples) return;
  traced_.settle();
  attribute();
}

bool Recording::of_another(std::uint32_t pid) const {
  return pid != kNotTold && pid != static_cast<std::uint32_t>(traced_.pid());
}

// By event where that is known; what remains is the source's as a whole.
void Recording::note_losses(const SampleBatch& batch) {
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

void Recording::hear(const Tensor& tensor) {
  Tensor born = tensor;
  born.born = on_stream(born.born);
  if (living_.born(born)) {
    ++report.tensors;
  } else {
    ++report.lost;
  }
  if (living_.unwritten() >= kManyBirths) write_living();
}

void Recording::hear(const ObserverEvent& event) {
  if (std::holds_alternative<ObserverHello>(event.what)) {
    traced_.has_torch(event.pid);
  }
  if (!traced_.by_torch() || event.pid != traced_.pid()) {
    ++other_events_;
    return;
  }
  if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
    hear(*tensor);
  } else if (const auto* died = std::get_if<TensorDied>(&event.what)) {
    const auto whole = living_.died(died->serial, on_stream(died->time));
    if (whole) writer_.add(*whole);
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
  } else if (const auto* figure = std::get_if<ObserverFigure>(&event.what)) {
    figures_.hear(event.pid, *figure);
  }
}

// Writes the areas that are new or have changed, and widens what is ours.
void Recording::note_areas(const Maps& maps) {
  std::map<Address, Area> present;
  std::uint64_t left_out = 0;
  for (const auto& area : maps.areas) {
    if (present.size() >= limits_.areas) {
      ++left_out;
      continue;
    }
    const auto at = seen_.find(area.start);
    const bool known = at != seen_.end() && at->second.end == area.end &&
                       at->second.permissions == area.permissions &&
                       at->second.name == area.name;
    present.emplace(area.start, area);
    if (known) continue;
    writer_.add(Mapping{stream_now(), area.start, area.end, area.permissions,
                        area.name});
    if (!streams_) continue;  // they say whose their samples are
    if (mine_added_ < limits_.areas_ever) {
      mine_.insert(area.start, area.end, 0);
      ++mine_added_;
    } else {
      ++spans_left_out_;
    }
  }
  seen_ = std::move(present);
  areas_left_out_ = std::max(areas_left_out_, left_out);
}

void Recording::note_footprint() {
  const auto text =
      kernel_->read_file("proc/" + std::to_string(traced_.pid()) + "/status");
  if (!text) return;
  const auto bytes = [&text](const char* key) -> Bytes {
    return status_word(*text, key, 1).value_or(0) * 1024;
  };
  report.peak_bytes = std::max(report.peak_bytes, bytes("VmRSS"));
  report.peak_private_bytes =
      std::max(report.peak_private_bytes, bytes("RssAnon"));
}

}  // namespace thermocline
