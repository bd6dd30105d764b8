// What each event is made of, in file order: one list for both directions.
//
// event_fields(coder, event) names every field of an event once. An
// EventEncoder (event const) appends them to a payload, an EventDecoder
// (event not const) fills them in, so the two cannot disagree. The order is
// the file format: new fields go at the end, none is removed. See FORMAT.md.
#pragma once

#include <concepts>
#include <type_traits>

#include "traces/trace.h"

namespace thermocline {

template <typename T, typename Event>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Event>;

void event_fields(auto& coder, MaybeConst<Trace::Info> auto& info) {
  coder.texts(info.command);
  coder.text(info.clock);
  coder.text(info.machine);
  coder.text(info.placement);
  coder.text(info.host);
  coder.number(info.page_bytes);
  coder.number(info.emulated);
  coder.later_text(info.source);
}

void event_fields(auto& coder, MaybeConst<Mapping> auto& mapping) {
  coder.time(mapping.time);
  coder.address(mapping.start);
  coder.address(mapping.end);
  coder.text(mapping.permissions);
  coder.text(mapping.name);
}

void event_fields(auto& coder, MaybeConst<Tensor> auto& tensor) {
  coder.serial(tensor.serial);
  coder.address(tensor.address);
  coder.number(tensor.bytes);
  coder.time(tensor.born);
  coder.time(tensor.died);
  coder.text(tensor.label);
}

void event_fields(auto& coder, MaybeConst<Operator> auto& op) {
  coder.text(op.name);
  coder.text(op.layer);
  coder.time(op.start);
  coder.time(op.end);
  coder.number(op.thread);
  coder.phase(op.phase);
  coder.serials(op.reads);
  coder.serials(op.writes);
}

void event_fields(auto& coder, MaybeConst<Mark> auto& mark) {
  coder.time(mark.time);
  coder.text(mark.name);
}

void event_fields(auto& coder, MaybeConst<Counters> auto& counters) {
  coder.time(counters.time);
  coder.number(counters.cpu);
  coder.number(counters.instructions);
  coder.number(counters.cycles);
  coder.number(counters.stall_cycles);
  coder.numbers(counters.misses);
  coder.later_numbers(counters.lines_read);
  coder.later_numbers(counters.lines_written);
}

void event_fields(auto& coder, MaybeConst<AccessSequence> auto& sequence) {
  coder.time(sequence.time);
  coder.number(sequence.thread);
  coder.number(sequence.cpu);
  coder.accesses(sequence.accesses);
}

void event_fields(auto& coder, MaybeConst<Loss> auto& loss) {
  coder.time(loss.time);
  coder.text(loss.source);
  coder.number(loss.count);
}

void event_fields(auto& coder, MaybeConst<PeriodChange> auto& change) {
  coder.time(change.time);
  coder.text(change.event);
  coder.number(change.period);
}

// End::known is not a field: the block itself says so.
void event_fields(auto& coder, MaybeConst<Trace::End> auto& end) {
  coder.integer(end.exit_status);
  coder.time(end.run_ns);
  coder.later_number(end.private_bytes);
}

}  // namespace thermocline
