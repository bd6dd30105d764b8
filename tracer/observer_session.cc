#include "tracer/observer_session.h"

#include <algorithm>

namespace thermocline {

bool ObserverSession::feed(std::span<const std::uint8_t> bytes,
                           std::vector<ObserverEvent>& events) {
  events_ = &events;
  const bool joined = !rest_.empty();
  if (joined) {
    rest_.insert(rest_.end(), bytes.begin(), bytes.end());
    bytes = rest_;
  }
  while (!bytes.empty()) {
    if (state_ == State::kDone || state_ == State::kBad) return false;
    const auto length = wire_length(bytes);
    if (!length) {
      state_ = State::kBad;
      return false;
    }
    if (*length == 0) break;
    if (!take(bytes.first(*length))) {
      state_ = State::kBad;
      return false;
    }
    bytes = bytes.subspan(*length);
  }
  std::vector<std::uint8_t> rest(bytes.begin(), bytes.end());
  rest_ = std::move(rest);
  return true;
}

void ObserverSession::finish(Nanos time, std::vector<ObserverEvent>& events) {
  events_ = &events;
  // Nobody knows how much more a job had to say that was killed, or could not
  // be understood.
  if (state_ == State::kBad || state_ == State::kOpen) {
    say(Loss{time, "observer", 1});
  }
  if (said_hello_ && state_ != State::kDone) say(ObserverGoodbye{});
  state_ = State::kDone;
}

bool ObserverSession::take(std::span<const std::uint8_t> whole) {
  auto message = decode_message(whole);
  if (!message) return false;
  const bool hello = std::holds_alternative<ObserverHello>(*message);
  if (hello != (state_ == State::kNew)) return false;
  return std::visit([this]<typename What>(
                        What&& what) { return take(std::forward<What>(what)); },
                    std::move(*message));
}

bool ObserverSession::take(ObserverHello&& hello) {
  state_ = State::kOpen;
  said_hello_ = true;
  return say(std::move(hello));
}

bool ObserverSession::take(WireName&& name) {
  if (name.number != names_.size() + 1 || names_.size() >= kMaxNames) {
    return false;
  }
  names_.push_back(std::move(name.text));
  return true;
}

bool ObserverSession::take(Tensor&& tensor) {
  if (tensor.serial <= last_serial_ || alive_.size() >= kMaxAlive) return false;
  if (tensor.serial != last_serial_ + 1) {
    if (gaps_.size() >= kMaxGaps) return false;
    gaps_.emplace_back(last_serial_ + 1, tensor.serial - 1);
  }
  last_serial_ = tensor.serial;
  auto at = alive_.lower_bound(tensor.address);
  if (at != alive_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes > tensor.address) at = before;
  }
  while (at != alive_.end() && at->first < tensor.address + tensor.bytes) {
    say(TensorDied{at->second.serial, tensor.born});
    address_of_.erase(at->second.serial);
    at = alive_.erase(at);
  }
  alive_.emplace(tensor.address, Alive{tensor.bytes, tensor.serial});
  address_of_.emplace(tensor.serial, tensor.address);
  return say(std::move(tensor));
}

bool ObserverSession::take(TensorDied&& died) {
  const auto at = address_of_.find(died.serial);
  if (at == address_of_.end()) return true;  // its birth was lost
  alive_.erase(at->second);
  address_of_.erase(at);
  return say(died);
}

bool ObserverSession::take(WireOperatorSeen&& seen) {
  Operator op;
  if (!name_of(seen.op.name, op.name) || !name_of(seen.op.layer, op.layer)) {
    return false;
  }
  op.start = seen.op.start;
  op.end = seen.op.end;
  op.thread = seen.op.thread;
  op.phase = seen.op.phase;
  op.reads = std::move(seen.reads);
  op.writes = std::move(seen.writes);
  forget_unknown(op.reads);
  forget_unknown(op.writes);
  return say(std::move(op));
}

bool ObserverSession::take(Mark&& mark) { return say(std::move(mark)); }

bool ObserverSession::take(Loss&& loss) { return say(std::move(loss)); }

bool ObserverSession::take(ObserverFigure&& figure) {
  return say(std::move(figure));
}

bool ObserverSession::take(ObserverGoodbye&& goodbye) {
  state_ = State::kDone;
  return say(goodbye);
}

bool ObserverSession::told(ObjectId serial) const {
  if (serial == 0 || serial > last_serial_) return false;
  const auto after = std::upper_bound(
      gaps_.begin(), gaps_.end(), serial,
      [](ObjectId at, const auto& gap) { return at < gap.first; });
  return after == gaps_.begin() || std::prev(after)->second < serial;
}

void ObserverSession::forget_unknown(std::vector<ObjectId>& serials) {
  std::erase_if(serials, [this](ObjectId serial) { return !told(serial); });
}

bool ObserverSession::name_of(std::uint32_t number, std::string& name) const {
  if (number > names_.size()) return false;
  if (number != 0) name = names_[number - 1];
  return true;
}

}  // namespace thermocline
