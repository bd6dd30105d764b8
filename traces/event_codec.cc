#include "traces/event_codec.h"

#include "traces/access_code.h"

namespace thermocline {

void EventEncoder::clear() {
  payload_.clear();
  base_ = {};
  texts_.clear();
  decoded_bytes_ = 0;
}

void EventEncoder::text(const std::string& value) {
  decoded_bytes_ += value.size();
  const auto [at, fresh] = texts_.emplace(value, texts_.size() + 1);
  if (!fresh) return put_varint(row_, at->second);
  put_varint(row_, 0);
  put_varint(row_, value.size());
  row_.insert(row_.end(), value.begin(), value.end());
}

void EventEncoder::texts(const std::vector<std::string>& values) {
  put_varint(row_, values.size());
  decoded_bytes_ += values.size() * sizeof(std::string);
  for (const auto& value : values) text(value);
}

void EventEncoder::serials(const std::vector<ObjectId>& values) {
  put_varint(row_, values.size());
  decoded_bytes_ += values.size() * sizeof(ObjectId);
  for (const auto value : values) serial(value);
}

void EventEncoder::numbers(const std::vector<std::uint64_t>& values) {
  put_varint(row_, values.size());
  decoded_bytes_ += values.size() * sizeof(std::uint64_t);
  for (const auto value : values) put_varint(row_, value);
}

void EventEncoder::accesses(const std::vector<SequencedAccess>& values) {
  put_varint(row_, values.size());
  decoded_bytes_ += values.size() * sizeof(SequencedAccess);
  for (const auto& one : values) {
    address(one.address);
    difference(base_.ip, one.ip);
    number(one.instructions);
    number(access_code(one.access, one.source));
  }
}

bool EventDecoder::spend(Bytes bytes) {
  if (bytes > left_) {
    left_ = 0;
    row_.fail();
    return false;
  }
  left_ -= bytes;
  return true;
}

std::uint64_t EventDecoder::count() {
  const std::uint64_t promised = row_.varint();
  if (promised <= row_.left()) return promised;
  row_.fail();
  return 0;
}

void EventDecoder::integer(int& value) {
  const auto wide = static_cast<std::int64_t>(unfold(row_.varint()));
  if (wide < std::numeric_limits<int>::min() ||
      wide > std::numeric_limits<int>::max()) {
    return row_.fail();
  }
  value = static_cast<int>(wide);
}

void EventDecoder::serial(ObjectId& value) {
  const std::uint64_t wide = difference(base_.serial);
  if (wide > std::numeric_limits<ObjectId>::max()) return row_.fail();
  value = static_cast<ObjectId>(wide);
}

void EventDecoder::phase(Phase& value) {
  const std::uint64_t wide = row_.varint();
  // A phase that a later version added is one that we do not know.
  value = wide <= static_cast<std::uint64_t>(Phase::kOptimizer)
              ? static_cast<Phase>(wide)
              : Phase::kUnknown;
}

void EventDecoder::text(std::string& value) {
  const std::uint64_t which = row_.varint();
  if (which == 0) {
    const ByteSpan bytes = row_.take(row_.varint());
    // As is: a text is bytes, and views into the payload keep them cheap.
    texts_.emplace_back(reinterpret_cast<const char*>(bytes.data()),
                        bytes.size());
  } else if (which > texts_.size()) {
    return row_.fail();
  }
  const auto& found = which == 0 ? texts_.back() : texts_[which - 1];
  if (spend(found.size())) value.assign(found);
}

void EventDecoder::texts(std::vector<std::string>& values) {
  const std::uint64_t many = count();
  if (!spend(many * sizeof(std::string))) return;
  values.resize(many);
  for (auto& value : values) text(value);
}

void EventDecoder::serials(std::vector<ObjectId>& values) {
  const std::uint64_t many = count();
  if (!spend(many * sizeof(ObjectId))) return;
  values.resize(many);
  for (auto& value : values) serial(value);
}

void EventDecoder::numbers(std::vector<std::uint64_t>& values) {
  const std::uint64_t many = count();
  if (!spend(many * sizeof(std::uint64_t))) return;
  values.resize(many);
  for (auto& value : values) value = row_.varint();
}

void EventDecoder::accesses(std::vector<SequencedAccess>& values) {
  const std::uint64_t many = count();
  if (!spend(many * sizeof(SequencedAccess))) return;
  values.resize(many);
  for (auto& one : values) {
    address(one.address);
    one.ip = difference(base_.ip);
    number(one.instructions);
    const std::uint64_t code = row_.varint();
    one.access = access_of(code);
    one.source = source_of(code);
  }
}

}  // namespace thermocline
