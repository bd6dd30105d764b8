// Accesses that a job tells of: they steer the policy, and are never shown as
// seen.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/api.h"
#include "tests/daemon/commands.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr Address kBase = Address{1} << 30;
constexpr Bytes kRegion = 64 * ScriptedKernel::kPage;

class Expect : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, 1 << 30, 1 << 29);
    kernel.add_node(1, 1 << 30, 1 << 29);
    kernel.add_process(7, kBase, 4 * 64, 1);
    kernel.add_process(8, kBase, 4 * 64, 1);
    auto made = Service::make(kernel, scripted_machine(), {}, scripted(script));
    ASSERT_TRUE(made);
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
    api = std::make_unique<Api>(
        *service, [this](const std::string& line) { audited.push_back(line); });
  }
  json ask(json request, const Caller& caller) {
    request["v"] = 1;
    return json::parse(api->answer(request.dump(), caller));
  }
  json expect(const json& ranges, const Caller& caller = owner(7)) {
    return ask({{"op", "expect"}, {"ranges", ranges}}, caller);
  }
  void end_window() {
    kernel.time += 1'000'000'000;
    service->end_window();
  }

  ScriptedKernel kernel;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
  std::vector<std::string> audited;
  std::unique_ptr<Api> api;
};

TEST_F(Expect, CountsInTheWindowInWhichItComesAndNotAfter) {
  // Half of it in region 0, half in region 1; an eighth of region 2; and the
  // last line of the last region, with one beyond it.
  const auto answer = expect({{kBase + kRegion / 2, kRegion, 100, 10},
                              {"0x40080000", kRegion / 8, 7, 0},
                              {kBase + 4 * kRegion - 64, 128, 2, 0}});
  EXPECT_EQ(answer["ok"], true) << answer;
  EXPECT_EQ(answer["unknown_bytes"], 64);
  end_window();
  ASSERT_EQ(script->objects.size(), 4u);
  EXPECT_EQ(script->objects[0].loads, 50);
  EXPECT_EQ(script->objects[0].stores, 5);
  EXPECT_EQ(script->objects[1].loads, 50);
  EXPECT_EQ(script->objects[2].loads, 7);
  EXPECT_EQ(script->objects[3].loads, 1);
  end_window();
  EXPECT_EQ(script->objects[0].loads, 0);
  EXPECT_TRUE(audited.empty()) << "jobs tell all the time";
}

TEST_F(Expect, IsNotShownAsSeen) {
  SampleBatch batch;
  batch.samples.resize(3);
  for (auto& sample : batch.samples) sample.address = kBase;
  service->add(batch);
  expect({{kBase, 64, 2, 4}});
  expect({{kBase + kRegion, 64, 1, 0}});
  end_window();
  EXPECT_EQ(script->objects[0].loads, 3) << "more than was told";
  EXPECT_EQ(script->objects[0].stores, 4);
  EXPECT_EQ(service->targets()[0].accesses, 3);
  const auto why = ask({{"op", "explain"}, {"address", kBase}}, owner());
  const auto& first = why["because"][0];
  EXPECT_EQ(first["samples"]["stores"], 0.0) << first;
  EXPECT_EQ(first["told"], (json{{"loads", 2.0}, {"stores", 4.0}}));
  end_window();
  const auto later = ask({{"op", "explain"}, {"address", kBase}}, owner());
  EXPECT_FALSE(later["because"][0].contains("told"));
}

TEST_F(Expect, BadRangesCountForNothing) {
  const json good = json::array({kBase, 64, 9, 9});
  std::vector<json> all{
      json::array({kBase, 64, 1}),          json::array({kBase, 64, 1, 1, 1}),
      json::array({kBase, 0, 1, 1}),        json::array({kBase, -64, 1, 1}),
      json::array({kBase, 64, -1, 1}),      json::array({kBase, 64, 1e300, 1}),
      json::array({kBase, 64, "1", 1}),     json::array({"x", 64, 1, 1}),
      json::array({kBase, 64.5, 1, 1}),     json::array(),
      json::array({kBase, 64, 1, nullptr}), 7};
  for (const json& bad : all) {
    const auto answer = expect(json::array({good, bad}));
    EXPECT_EQ(answer["ok"], false) << bad;
    EXPECT_EQ(answer["error"]["code"], "invalid") << bad;
  }
  EXPECT_EQ(expect(json::object())["error"]["code"], "invalid");
  EXPECT_EQ(expect(std::vector<json>(513, good))["error"]["code"], "invalid");
  EXPECT_EQ(ask({{"op", "expect"}, {"ranges", {good}}, {"pid", 7}},
                owner(7))["error"]["code"],
            "invalid");
  end_window();
  EXPECT_EQ(script->objects[0].loads, 0);
  // Whatever is said of the size, no more regions than there are are looked at.
  const json vast = json::array({kBase, ~Bytes{0}, 1, 1});
  const json beyond = json::array({~Bytes{0} - 5, ~Bytes{0}, 1, 1});
  for (const json& one : {vast, beyond}) {
    const auto answer = expect(json::array({one}));
    EXPECT_EQ(answer["ok"], true) << answer;
  }
  const auto answer = expect(json::array({vast, beyond}));
  EXPECT_EQ(answer["error"]["code"], "invalid") << answer;
}

TEST_F(Expect, IsForAProcessAboutItself) {
  EXPECT_EQ(expect(json::array(), owner(8))["error"]["code"], "not_found");
  EXPECT_EQ(expect(json::array(), owner())["error"]["code"], "permission");
  EXPECT_EQ(expect(json::array(),
                   {Role::kReadOnly, "ada", [] { return 7; }})["error"]["code"],
            "permission");
  EXPECT_EQ(audited.size(), 3u) << "what was refused is logged";
}

// A real daemon takes the kernel's word for who asks.
using ExpectLive = Commands;

TEST_F(ExpectLive, TheKernelSaysWhoAsks) {
  const std::vector<std::byte> memory(4 << 20, std::byte{1});
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  Child daemon({THERMOCLINED, "--mover", "dry", "--source", "none", "--pid",
                std::to_string(::getpid()), "--machine", scratch / "two.json",
                "--socket", socket(), "--ready-fd", "9"});
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const json request = {{"op", "expect"},
                        {"ranges", {{at, memory.size(), 10, 0}}}};
  const auto answer = ask_daemon(socket(), request);
  EXPECT_EQ(answer.value("pid", 0), ::getpid()) << answer;
  EXPECT_EQ(answer.value("unknown_bytes", -1), 0) << answer;
  // Another process of the same user, who may ask all else.
  const auto other =
      run({"query", "expect", "-f", "ranges=[]", "--socket", socket()});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.output.find("not managed"), std::string::npos)
      << other.output;
}

}  // namespace
}  // namespace thermocline
