// What an exported event shows: name and value of each column, in order.
#pragma once

#include "traces/tensor_accesses.h"
#include "traces/trace.h"

namespace thermocline {

// An address, shown in hexadecimal.
struct Hex {
  Address value;
};

constexpr const char* access_name(Access access) {
  return access == Access::kStore ? "store" : "load";
}

constexpr const char* source_name(Source source) {
  switch (source) {
    case Source::kUnknown: return "unknown";
    case Source::kCache: return "cache";
    case Source::kDram: return "dram";
    case Source::kRemote: return "remote";
    case Source::kPmem: return "pmem";
    case Source::kCxl: return "cxl";
    case Source::kL1: return "l1";
    case Source::kL2: return "l2";
    case Source::kL3: return "l3";
    case Source::kFillBuffer: return "fill_buffer";
  }
  return "unknown";
}

constexpr const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kUnknown: return "unknown";
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
  }
  return "unknown";
}

void export_columns(auto& show, const Sample& sample) {
  show("time_ns", sample.time);
  show("address", Hex{sample.address});
  show("ip", Hex{sample.ip});
  show("thread", sample.thread);
  show("cpu", sample.cpu);
  show("latency_cycles", sample.latency);
  show("period", sample.period);
  show("access", access_name(sample.access));
  show("source", source_name(sample.source));
  show("retire_latency_cycles", sample.retire_latency);
  show("physical", Hex{sample.physical});
}

// One access of a sequence, told by its number.
struct SequenceRow {
  std::size_t sequence = 0;
  const AccessSequence* all = nullptr;
  SequencedAccess access;
};

void export_columns(auto& show, const SequenceRow& row) {
  static const AccessSequence none;
  const AccessSequence& all = row.all == nullptr ? none : *row.all;
  show("sequence", row.sequence);
  show("time_ns", all.time);
  show("thread", all.thread);
  show("cpu", all.cpu);
  show("address", Hex{row.access.address});
  show("ip", Hex{row.access.ip});
  show("instructions", row.access.instructions);
  show("access", access_name(row.access.access));
  show("source", source_name(row.access.source));
}

void export_columns(auto& show, const Tensor& tensor) {
  show("serial", tensor.serial);
  show("address", Hex{tensor.address});
  show("bytes", tensor.bytes);
  show("born_ns", tensor.born);
  show("died_ns", tensor.died);
  show("label", tensor.label);
}

void export_columns(auto& show, const TensorAccess& access) {
  show("serial", access.serial);
  show("bytes", access.bytes);
  show("samples", access.samples);
  show("loads", access.loads);
  show("stores", access.stores);
  show("shared_pages", access.shared_pages);
  show("neighbours", access.neighbours);
}

void export_columns(auto& show, const Operator& op) {
  show("start_ns", op.start);
  show("end_ns", op.end);
  show("name", op.name);
  show("layer", op.layer);
  show("thread", op.thread);
  show("phase", phase_name(op.phase));
  show("reads", op.reads);
  show("writes", op.writes);
}

void export_columns(auto& show, const Mapping& mapping) {
  show("time_ns", mapping.time);
  show("start", Hex{mapping.start});
  show("end", Hex{mapping.end});
  show("permissions", mapping.permissions);
  show("name", mapping.name);
}

void export_columns(auto& show, const Mark& mark) {
  show("time_ns", mark.time);
  show("name", mark.name);
}

void export_columns(auto& show, const Counters& counters) {
  show("time_ns", counters.time);
  show("cpu", counters.cpu);
  show("instructions", counters.instructions);
  show("cycles", counters.cycles);
  show("stall_cycles", counters.stall_cycles);
  show("misses", counters.misses);
  show("lines_read", counters.lines_read);
  show("lines_written", counters.lines_written);
}

void export_columns(auto& show, const Loss& loss) {
  show("time_ns", loss.time);
  show("source", loss.source);
  show("count", loss.count);
}

void export_columns(auto& show, const PeriodChange& change) {
  show("time_ns", change.time);
  show("event", change.event);
  show("period", change.period);
}

void export_columns(auto& show, const Trace::Info& info) {
  show("command", info.command);
  show("clock", info.clock);
  show("machine", info.machine);
  show("placement", info.placement);
  show("host", info.host);
  show("page_bytes", info.page_bytes);
  show("emulated", info.emulated);
  show("source", info.source);
}

void export_columns(auto& show, const Trace::End& end) {
  show("exit_status", end.exit_status);
  show("run_ns", end.run_ns);
  show("private_bytes", end.private_bytes);
}

}  // namespace thermocline
