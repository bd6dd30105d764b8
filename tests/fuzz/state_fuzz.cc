// Fuzzes the state that outlives thermoclined, as the pool hands it out: any
// bytes are refused, or are a state from which a service goes on, and which it
// then writes so that it can be read.
#include <cstdint>
#include <string>

#include "daemon/state_keeper.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace {

using namespace thermocline;  // NOLINT: a fuzz target of its own

constexpr Address kBase = Address{1} << 30;
constexpr Nanos kSecond = 1'000'000'000;

// Moves something back and forth, so that what was recalled counts.
std::shared_ptr<Script> script() {
  auto out = std::make_shared<Script>();
  out->moves = {{{0, 1, 0}, {1, 1, 0}}, {{0, 0, 1}, {2, 1, 0}}};
  return out;
}

void go_on_from(const State& state) {
  ScriptedKernel kernel;
  kernel.add_node(0, 1 << 30, 1 << 29);
  kernel.add_node(1, 1 << 30, 1 << 29);
  kernel.add_process(7, kBase, 4 * 64, 1);
  Service::Options options;
  options.policy_guard.deadline_ns = 0;  // no thread
  auto made =
      Service::make(kernel, scripted_machine(), options, scripted(script()));
  CHECK(made.has_value());
  auto& service = **made;
  const auto write = [](std::string_view bytes) -> Status {
    CHECK(state_from(std::string(bytes)).has_value());
    return {};
  };
  StateKeeper keeper(kernel, service, state, write,
                     [] { return std::int64_t{1'000'000}; }, {});
  for (const auto& line : keeper.resume()) CHECK(!line.empty());
  for (int window = 0; window < 2; ++window) {
    kernel.time += kSecond;
    service.end_window();
    keeper.window_ended();
  }
  for (const auto& one : service.targets()) CHECK(one.footprint() > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto state = state_from(bytes);
  if (!state) {
    CHECK(!state.error().message.empty());
    return 0;
  }
  const auto again = state_from(to_bytes(*state));
  CHECK(again.has_value());
  CHECK(to_bytes(*again) == to_bytes(*state));
  go_on_from(*state);
  return 0;
}
