// EventEncoder and EventDecoder: events that are no samples, as block
// payloads.
//
// A payload is a run of events, each led by its length, so that a reader
// passes over fields that a later minor version added. Times, addresses and
// serials are kept as differences from the one before in the payload; a text
// is written once and then named by its place among the payload's texts.
// Thread safety: none; each belongs to one reader or writer.
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/event_fields.h"
#include "traces/varint.h"

namespace thermocline {

// What the next difference is taken from.
struct EventBase {
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t serial = 0;
  std::uint64_t ip = 0;
};

class EventEncoder {
 public:
  /// Appends one event.
  template <typename Event>
  void add(const Event& event) {
    row_.clear();
    decoded_bytes_ += sizeof(Event);
    event_fields(*this, event);
    put_varint(payload_, row_.size());
    put_bytes(payload_, row_);
  }
  const ByteVector& payload() const { return payload_; }
  /// Bytes that the events take in memory, as EventDecoder counts them.
  Bytes decoded_bytes() const { return decoded_bytes_; }
  /// Starts the next payload.
  void clear();

  void number(std::unsigned_integral auto value) { put_varint(row_, value); }
  void later_number(std::uint64_t value) { number(value); }
  void later_text(const std::string& value) { text(value); }
  void later_numbers(const std::vector<std::uint64_t>& values) {
    numbers(values);
  }
  void integer(std::int64_t value) {
    put_varint(row_, fold(static_cast<std::uint64_t>(value)));
  }
  void time(Nanos value) {
    difference(base_.time, static_cast<std::uint64_t>(value));
  }
  void address(Address value) { difference(base_.address, value); }
  void serial(ObjectId value) { difference(base_.serial, value); }
  void phase(Phase value) { number(static_cast<std::uint8_t>(value)); }
  void text(const std::string& value);
  void texts(const std::vector<std::string>& values);
  void serials(const std::vector<ObjectId>& values);
  void numbers(const std::vector<std::uint64_t>& values);
  void accesses(const std::vector<SequencedAccess>& values);

 private:
  void difference(std::uint64_t& base, std::uint64_t value) {
    put_varint(row_, fold(value - base));
    base = value;
  }

  ByteVector payload_;
  ByteVector row_;
  EventBase base_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  Bytes decoded_bytes_ = 0;
};

class EventDecoder {
 public:
  /// Reads `payload`, which must outlive the decoder. Events may take at most
  /// `limit` bytes in memory: a text can be named a million times by a byte
  /// each, so what a hostile payload unpacks to has to be counted.
  EventDecoder(ByteSpan payload, Bytes limit) : in_(payload), left_(limit) {}

  /// The next event, or false at the end and at the first bad byte.
  template <typename Event>
  bool next(Event& event) {
    if (in_.empty()) return false;
    const ByteSpan bytes = in_.take(in_.varint());
    row_ = ByteReader(bytes);
    spend(sizeof(Event));
    event_fields(*this, event);
    if (!row_.ok()) in_.fail();
    return in_.ok();
  }
  /// False after a bad byte, or when the limit was passed.
  bool ok() const { return in_.ok(); }
  /// How much of the limit is left; 0 once it was passed.
  Bytes left() const { return left_; }

  /// A field that files of before may lack: it then keeps its default.
  void later_number(std::uint64_t& value) {
    if (row_.left() > 0) number(value);
  }
  void later_numbers(std::vector<std::uint64_t>& values) {
    if (row_.left() > 0) numbers(values);
  }
  void later_text(std::string& value) {
    if (row_.left() > 0) text(value);
  }
  void number(bool& value) { value = row_.varint() != 0; }
  template <std::unsigned_integral T>
  void number(T& value) {
    const std::uint64_t wide = row_.varint();
    if (wide > std::numeric_limits<T>::max()) row_.fail();
    value = static_cast<T>(wide);
  }
  void integer(int& value);
  void time(Nanos& value) {
    value = static_cast<Nanos>(difference(base_.time));
  }
  void address(Address& value) { value = difference(base_.address); }
  void serial(ObjectId& value);
  void phase(Phase& value);
  void text(std::string& value);
  void texts(std::vector<std::string>& values);
  void serials(std::vector<ObjectId>& values);
  void numbers(std::vector<std::uint64_t>& values);
  void accesses(std::vector<SequencedAccess>& values);

 private:
  std::uint64_t difference(std::uint64_t& base) {
    return base += unfold(row_.varint());
  }
  bool spend(Bytes bytes);
  // Length of a list, each element of which takes at least a byte.
  std::uint64_t count();

  ByteReader in_;
  ByteReader row_{{}};
  EventBase base_;
  std::vector<std::string_view> texts_;
  Bytes left_;
};

}  // namespace thermocline
