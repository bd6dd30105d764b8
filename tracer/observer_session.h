// ObserverSession: what one tensor observer has said so far, checked.
//
// Turns the bytes of one connection, in whatever pieces they come, into
// events. Whatever the job says, its listener may rely on this: serials rise;
// a tensor dies at most once and only after it was born; tensors alive at the
// same time never overlap (a birth on top of an older tensor means that its
// death was lost, and is told as such); operators speak only of tensors that
// were told.
//
// Thread safety: none; pure, no descriptor. Memory: bounded by kMaxAlive
// tensors alive and kMaxNames names.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/observer_wire.h"

namespace thermocline {

class ObserverSession {
 public:
  static constexpr std::size_t kMaxAlive = 1 << 20;
  static constexpr std::size_t kMaxNames = 1 << 16;
  static constexpr std::size_t kMaxGaps = 1 << 16;

  explicit ObserverSession(int pid) : pid_(pid) {}

  /// Takes the next bytes and appends their events. Returns: false when they
  /// are nonsense; then the connection has nothing more to say.
  bool feed(std::span<const std::uint8_t> bytes,
            std::vector<ObserverEvent>& events);

  /// The connection has ended: if without a Goodbye, appends a Loss at `time`,
  /// and the Goodbye when there was a Hello.
  void finish(Nanos time, std::vector<ObserverEvent>& events);

  bool finished() const { return state_ == State::kDone; }

 private:
  enum class State { kNew, kOpen, kBad, kDone };

  bool take(std::span<const std::uint8_t> whole);
  bool take(ObserverHello&& hello);
  bool take(WireName&& name);
  bool take(Tensor&& tensor);
  bool take(TensorDied&& died);
  bool take(WireOperatorSeen&& seen);
  bool take(Mark&& mark);
  bool take(Loss&& loss);
  bool take(ObserverFigure&& figure);
  bool take(ObserverGoodbye&& goodbye);
  bool told(ObjectId serial) const;
  void forget_unknown(std::vector<ObjectId>& serials);
  bool name_of(std::uint32_t number, std::string& name) const;
  template <typename Event>
  bool say(Event&& event) {
    events_->push_back({pid_, std::forward<Event>(event)});
    return true;
  }

  int pid_;
  State state_ = State::kNew;
  bool said_hello_ = false;
  std::vector<std::uint8_t> rest_;  // an unfinished message
  std::vector<ObserverEvent>* events_ = nullptr;
  std::vector<std::string> names_;
  ObjectId last_serial_ = 0;
  std::vector<std::pair<ObjectId, ObjectId>> gaps_;  // serials never told
  struct Alive {
    Bytes bytes;
    ObjectId serial;
  };
  std::map<Address, Alive> alive_;
  std::unordered_map<ObjectId, Address> address_of_;
};

}  // namespace thermocline
