#include <bit>
#include <optional>
#include <tuple>
#include <utility>

#include "traces/append_file.h"
#include "traces/block.h"
#include "traces/event_codec.h"
#include "traces/sample_codec.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

// When a block is full. Larger ones pack no better, and lose more to a kill.
constexpr std::size_t kFullSamples = 16384;
constexpr Bytes kFullPayload = Bytes{256} << 10;
constexpr Bytes kFullDecoded = Bytes{4} << 20;
// An event near the size of a block cannot be kept; it is counted instead.
constexpr Bytes kMaxEventBytes = Bytes{4} << 20;

// The longest an event can get as a payload, without its fixed fields.
Bytes list_bytes(const Mapping& m) {
  return m.permissions.size() + m.name.size();
}
Bytes list_bytes(const Tensor& tensor) { return tensor.label.size(); }
Bytes list_bytes(const Operator& op) {
  return op.name.size() + op.layer.size() +
         10 * (op.reads.size() + op.writes.size());
}
Bytes list_bytes(const Mark& mark) { return mark.name.size(); }
Bytes list_bytes(const Counters& counters) {
  return 10 * counters.misses.size();
}
Bytes list_bytes(const AccessSequence& sequence) {
  return 26 * sequence.accesses.size();
}
Bytes list_bytes(const Loss& loss) { return loss.source.size(); }
Bytes list_bytes(const PeriodChange& change) { return change.event.size(); }
Bytes list_bytes(const Trace::Info& info) {
  Bytes all = info.clock.size() + info.machine.size() + info.placement.size() +
              info.host.size();
  for (const auto& word : info.command) all += 10 + word.size();
  return all;
}

// The events of one kind that are not on disk yet.
template <typename T, BlockKind K>
struct Pending {
  using Event = T;
  static constexpr BlockKind kKind = K;
  EventEncoder encoder;
};

using AllPending = std::tuple<
    Pending<Mapping, BlockKind::kMappings>,
    Pending<Tensor, BlockKind::kTensors>,
    Pending<Operator, BlockKind::kOperators>, Pending<Mark, BlockKind::kMarks>,
    Pending<Counters, BlockKind::kCounters>, Pending<Loss, BlockKind::kLosses>,
    Pending<PeriodChange, BlockKind::kPeriods>,
    Pending<AccessSequence, BlockKind::kSequences>>;

}  // namespace

struct TraceWriter::Impl {
  explicit Impl(AppendFile to) : file(std::move(to)) {}

  AppendFile file;
  Packer packer;
  AllPending pending;
  SampleEncoder sample_encoder;
  std::vector<Sample> samples;
  std::uint64_t too_large = 0;
  Nanos too_large_time = 0;
  bool finished = false;
  Status failure;  // the first, from an add that had nobody to tell

  void put(BlockKind kind, ByteSpan payload) {
    auto status =
        file.append(packer.pack(static_cast<std::uint8_t>(kind), payload));
    if (!status && failure) failure = status;
  }

  template <typename Event>
  void put_one(BlockKind kind, const Event& event) {
    EventEncoder encoder;
    encoder.add(event);
    put(kind, encoder.payload());
  }

  void put_pending(auto& of_kind) {
    if (of_kind.encoder.payload().empty()) return;
    put(of_kind.kKind, of_kind.encoder.payload());
    of_kind.encoder.clear();
  }

  void put_samples() {
    if (samples.empty()) return;
    put(BlockKind::kSamples, sample_encoder.encode(samples));
    samples.clear();
  }

  void put_all() {
    std::apply([&](auto&... each) { (put_pending(each), ...); }, pending);
    put_samples();
  }

  template <typename P>
  void add(const typename P::Event& event, Nanos time) {
    CHECK(!finished);
    if (list_bytes(event) > kMaxEventBytes) {
      ++too_large;
      too_large_time = time;
      return;
    }
    auto& of_kind = std::get<P>(pending);
    of_kind.encoder.add(event);
    if (of_kind.encoder.payload().size() >= kFullPayload ||
        of_kind.encoder.decoded_bytes() >= kFullDecoded) {
      put_pending(of_kind);
    }
  }
};

Result<TraceWriter> TraceWriter::create(const std::string& path,
                                        const Trace::Info& info, bool replace) {
  if (!std::has_single_bit(info.page_bytes)) {
    return invalid(path + ": a page of " + std::to_string(info.page_bytes) +
                   " bytes; page_bytes must be a power of two");
  }
  if (list_bytes(info) > kMaxEventBytes) {
    return invalid(path + ": the command, machine and names of a trace may " +
                   "take 4 MiB, not " + std::to_string(list_bytes(info)) +
                   " bytes");
  }
  auto file = AppendFile::create(path, replace);
  if (!file) return file.error();
  auto impl = std::make_unique<Impl>(std::move(*file));
  if (auto status = impl->file.append(file_header()); !status) {
    return status.error();
  }
  impl->put_one(BlockKind::kInfo, info);
  if (!impl->failure) return impl->failure.error();
  return TraceWriter(std::move(impl));
}

TraceWriter::TraceWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;
TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
TraceWriter::~TraceWriter() {
  if (impl_ && !impl_->finished) impl_->put_all();
}

void TraceWriter::add(const Mapping& mapping) {
  impl_->add<Pending<Mapping, BlockKind::kMappings>>(mapping, mapping.time);
}
void TraceWriter::add(const Tensor& tensor) {
  impl_->add<Pending<Tensor, BlockKind::kTensors>>(tensor, tensor.born);
}
void TraceWriter::add(const Operator& op) {
  impl_->add<Pending<Operator, BlockKind::kOperators>>(op, op.start);
}
void TraceWriter::add(const Mark& mark) {
  impl_->add<Pending<Mark, BlockKind::kMarks>>(mark, mark.time);
}
void TraceWriter::add(const Counters& counters) {
  impl_->add<Pending<Counters, BlockKind::kCounters>>(counters, counters.time);
}
void TraceWriter::add(const AccessSequence& sequence) {
  impl_->add<Pending<AccessSequence, BlockKind::kSequences>>(sequence,
                                                             sequence.time);
}
void TraceWriter::add(const Loss& loss) {
  impl_->add<Pending<Loss, BlockKind::kLosses>>(loss, loss.time);
}
void TraceWriter::add(const PeriodChange& change) {
  impl_->add<Pending<PeriodChange, BlockKind::kPeriods>>(change, change.time);
}
void TraceWriter::add(const Sample& sample) {
  CHECK(!impl_->finished);
  impl_->samples.push_back(sample);
  if (impl_->samples.size() >= kFullSamples) impl_->put_samples();
}

Status TraceWriter::flush() {
  if (!impl_->finished) impl_->put_all();
  return impl_->failure;
}

Status TraceWriter::finish(const Trace::End& end) {
  CHECK(!impl_->finished);
  if (impl_->too_large > 0) {
    add(Loss{impl_->too_large_time, "writer", impl_->too_large});
  }
  impl_->put_all();
  impl_->put_one(BlockKind::kEnd, end);
  impl_->finished = true;
  if (!impl_->failure) return impl_->failure;
  return impl_->file.close();
}

Bytes TraceWriter::bytes() const { return impl_->file.bytes(); }

Status write_trace(const std::string& path, const Trace& trace, bool replace) {
  auto writer = TraceWriter::create(path, trace.info, replace);
  if (!writer) return writer.error();
  const auto add_all = [&](const auto& events) {
    for (const auto& event : events) writer->add(event);
  };
  add_all(trace.mappings);
  add_all(trace.tensors);
  add_all(trace.operators);
  add_all(trace.marks);
  add_all(trace.counters);
  add_all(trace.samples);
  add_all(trace.sequences);
  add_all(trace.losses);
  add_all(trace.periods);
  // A trace whose end is not known stays one.
  return trace.end.known ? writer->finish(trace.end) : writer->flush();
}

}  // namespace thermocline
