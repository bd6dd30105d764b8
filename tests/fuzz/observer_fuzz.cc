// Fuzzes what a tensor observer may say: the session keeps its promises
// whatever bytes come.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>

#include "tracer/observer_session.h"

namespace {

using namespace thermocline;  // NOLINT: a fuzz target of its own

void require(bool kept) {
  if (!kept) std::abort();
}

// The promises of observer_session.h.
struct Promises {
  std::set<ObjectId> told;
  std::map<Address, Tensor> alive;
  std::map<ObjectId, Address> where;
  bool hello = false, goodbye = false;

  void check(const ObserverHello&) {
    require(!hello);
    hello = true;
  }
  void check(const Tensor& tensor) {
    require(told.empty() || *told.rbegin() < tensor.serial);
    told.insert(tensor.serial);
    const auto after = alive.lower_bound(tensor.address);
    if (after != alive.end()) {
      require(tensor.address + tensor.bytes <= after->first);
    }
    if (after != alive.begin()) {
      const auto& before = std::prev(after)->second;
      require(before.address + before.bytes <= tensor.address);
    }
    alive.emplace(tensor.address, tensor);
    where.emplace(tensor.serial, tensor.address);
  }
  void check(const TensorDied& died) {
    require(where.contains(died.serial));
    alive.erase(where[died.serial]);
    where.erase(died.serial);
  }
  void check(const Operator& op) {
    require(op.start <= op.end);
    for (const auto serial : op.reads) require(told.contains(serial));
    for (const auto serial : op.writes) require(told.contains(serial));
  }
  void check(const Mark&) {}
  void check(const Loss&) {}
  void check(const ObserverFigure&) {}
  void check(const ObserverGoodbye&) {
    require(hello && !goodbye);
    goodbye = true;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ObserverSession session(1);
  std::vector<ObserverEvent> events;
  bool good = true;
  for (std::size_t at = 0; at < size && good;) {
    const auto piece = std::min<std::size_t>(1 + (size - at) % 29, size - at);
    good = session.feed({data + at, piece}, events);
    at += piece;
  }
  session.finish(0, events);
  Promises promises;
  for (const auto& event : events) {
    std::visit([&](const auto& what) { promises.check(what); }, event.what);
  }
  require(promises.hello == promises.goodbye);
  return 0;
}
