// Guards that are switched, and the kernel's own balancing, while it runs.
#include <stdexcept>

#include "tests/daemon/service_fixture.h"

namespace thermocline {
namespace {

TEST_F(ServiceTest, GuardsAreSwitchedWhileItRuns) {
  // There, back at once, there again at once.
  script->moves = {{{0, 1, 0}}, {{0, 0, 1}}, {{0, 1, 0}}};
  Service::Options options;
  options.without = {"no_payback"};
  start(options);
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
  ASSERT_TRUE(service->switch_guard("residence", false));
  ASSERT_TRUE(service->switch_guard("residence", false)) << "as it is";
  EXPECT_EQ(service->options().without,
            (std::vector<std::string>{"no_payback", "residence"}));
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
  ASSERT_TRUE(service->switch_guard("residence", true));
  EXPECT_EQ(window().moves.moved_bytes(), 0u);
  EXPECT_EQ(script->calls, 3u);
  // On is what the options say, not what was switched off from the start.
  ASSERT_TRUE(service->switch_guard("no_payback", true));
  EXPECT_EQ(service->options().guards.payback.seconds,
            Guards::Options().payback.seconds);
  int told = 0;
  for (const auto& line : service->history()) {
    told += line.find("was switched") != std::string::npos;
  }
  EXPECT_EQ(told, 3);
}

class Thrower final : public Policy {
 public:
  std::vector<Move> decide(const View&) override {
    throw std::runtime_error("no");
  }
  double heat(ObjectId) const override { return 0; }
  std::string explain(ObjectId) const override { return ""; }
};

TEST_F(ServiceTest, APolicyThatIsAskedNoMoreIsToldOnce) {
  auto made = Service::make(
      kernel, machine, {},
      [](const std::string&,
         const std::string&) -> Result<std::unique_ptr<Policy>> {
        return std::unique_ptr<Policy>(std::make_unique<Thrower>());
      });
  ASSERT_TRUE(made) << made.error().message;
  service = *std::move(made);
  ASSERT_TRUE(service->attach(7));
  for (int i = 0; i < 7; ++i) window();
  EXPECT_EQ(service->notices().given(), 0u);
  for (int i = 0; i < 5; ++i) window();
  ASSERT_EQ(service->notices().given(), 1u);
  EXPECT_NE(service->notices().lines()[0].find("asked no more for pid 7"),
            std::string::npos);
  ASSERT_TRUE(service->set_policy("x", "{}"));  // another chance
  for (int i = 0; i < 12; ++i) window();
  EXPECT_EQ(service->notices().given(), 2u);
}

TEST_F(ServiceTest, SomeGuardsTakeARestartAndOthersAreNone) {
  Service::Options options;
  options.without = {"in_flight"};
  start(options);
  EXPECT_TRUE(service->switch_guard("in_flight", false)) << "as it is";
  const auto restart = service->switch_guard("in_flight", true);
  ASSERT_FALSE(restart);
  EXPECT_NE(restart.error().message.find("restart"), std::string::npos);
  EXPECT_FALSE(service->switch_guard("gravity", true));
  options.without = {"gravity"};
  EXPECT_FALSE(Service::make(kernel, machine, options, scripted(script)));
}

TEST_F(ServiceTest, TheKernelsBalancingCanBeAllowedWhileItRuns) {
  kernel.files["proc/sys/kernel/numa_balancing"] = "1\n";
  script->moves = {{{0, 1, 0}}, {{1, 1, 0}}};
  start();
  EXPECT_EQ(window().moves.moved_bytes(), 0u);
  ASSERT_TRUE(service->switch_guard("numa_balancing", false));
  EXPECT_EQ(service->dry_reason(), "");
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
  ASSERT_TRUE(service->switch_guard("numa_balancing", true));
  EXPECT_EQ(window().moves.moved_bytes(), 0u);
  EXPECT_NE(service->dry_reason(), "");
}

TEST_F(ServiceTest, WhileTheKernelBalancesNothingIsMoved) {
  auto& balancing = kernel.files["proc/sys/kernel/numa_balancing"];
  balancing = "1\n";
  script->moves = {{{0, 1, 0}}};
  start();
  EXPECT_NE(service->dry_reason().find("numa_balancing=0"), std::string::npos);
  window();
  EXPECT_EQ(kernel.moves(), 0u);
  // It is turned off, and on again, while the daemon runs.
  balancing = "0\n";
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
  EXPECT_EQ(service->dry_reason(), "");
  balancing = "2\n";
  script->calls = 0;
  script->moves = {{{1, 1, 0}}};
  EXPECT_EQ(window().moves.moved_bytes(), 0u);
  EXPECT_EQ(service->notices().given(), 3u);
  script->moves = {{{0, 1, 0}}};
  for (auto& [page, node] : kernel.node_of) node = 1;
  Service::Options options;
  options.allow_numa_balancing = true;
  start(options);
  EXPECT_EQ(service->dry_reason(), "");
  EXPECT_EQ(window().moves.moved_bytes(), kRegion);
}

}  // namespace
}  // namespace thermocline
