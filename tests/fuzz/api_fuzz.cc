// Fuzzes the query API: lines are requests to one service. Whatever they say,
// each gets one JSON response of the documented form.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/api.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"
#include "tracer/words.h"

namespace {

using namespace thermocline;  // NOLINT: a fuzz target of its own

void require(bool kept) {
  if (!kept) std::abort();
}

// A job of 32 pages, half of them fast, with one tensor.
std::unique_ptr<Service> make_service(ScriptedKernel& kernel) {
  constexpr Address kBase = 0x40000000;
  kernel.add_node(0, 1 << 30, 1 << 29);
  kernel.add_node(1, 1 << 30, 1 << 29);
  kernel.add_process(7, kBase, 32, 1);
  for (Address i = 0; i < 16; ++i) kernel.node_of[kBase + i * 4096] = 0;
  Service::Options options;
  options.target.region_bytes = 16384;
  auto made = Service::make(kernel, scripted_machine(), options,
                            scripted(std::make_shared<Script>()));
  require(made.has_value() && (*made)->attach(7).has_value());
  Tensor tensor;
  tensor.serial = 12;
  tensor.address = kBase + 100;
  tensor.bytes = 100'000;
  (*made)->hear({7, tensor});
  (*made)->end_window();
  return *std::move(made);
}

void check(const std::string& response) {
  const auto json = nlohmann::json::parse(response, nullptr, false);
  require(json.is_object() && json.contains("v") && json["v"] == 1);
  require(json.contains("ok") && json["ok"].is_boolean());
  if (json["ok"] == true) return;
  require(json.contains("error") && json["error"]["code"].is_string() &&
          json["error"]["message"].is_string());
  const auto message = json["error"]["message"].get<std::string>();
  require(!message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ScriptedKernel kernel;
  const auto service = make_service(kernel);
  Api api(*service);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    check(api.answer(take_line(rest)));
  }
  service->end_window();
  return 0;
}
