// A service with one process, one tensor and one window behind it, and the API
// to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/api.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {

using nlohmann::json;

class ApiTest : public ::testing::Test {
 protected:
  static constexpr Address kBase = Address{1} << 30;
  static constexpr Bytes kRegion = 64 * ScriptedKernel::kPage;

  void SetUp() override {
    kernel.add_node(0, 1 << 30, 1 << 29);
    kernel.add_node(1, 1 << 30, 1 << 29);
    kernel.add_process(7, kBase, 4 * 64, 1);
    auto made = Service::make(kernel, scripted_machine(), {}, scripted(script));
    ASSERT_TRUE(made);
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
    Tensor tensor;
    tensor.serial = 12;
    tensor.address = kBase + kRegion / 2;
    tensor.bytes = kRegion;
    tensor.label = "parameter";
    service->hear({7, tensor});
    SampleBatch batch;
    batch.samples.resize(3);
    batch.samples[0].address = kBase;
    batch.samples[1].address = kBase;
    batch.samples[2].address = kBase + kRegion;
    batch.fell_short("loads", 5, 1);
    batch.periods = {{1, "loads", 101}, {2, "loads", 211}};
    service->add(batch);
    script->moves = {{{0, 1, 0}}};
    kernel.time = 1'000'000'000;
    service->end_window();
    api = std::make_unique<Api>(*service);
  }
  json ask(const std::string& text) {
    auto answer = json::parse(api->answer(text, owner(7)), nullptr, false);
    EXPECT_TRUE(answer.is_object()) << text;
    EXPECT_EQ(answer.value("v", 0), 1) << text;
    return answer;
  }
  json ask(json request) {
    request["v"] = 1;
    return ask(request.dump());
  }
  std::string code(const json& request) {
    const auto answer = ask(request);
    return answer["ok"] == true ? "ok" : std::string(answer["error"]["code"]);
  }

  ScriptedKernel kernel;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
  std::unique_ptr<Api> api;
};

}  // namespace thermocline
