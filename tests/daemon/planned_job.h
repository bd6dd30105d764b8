// A job with a plan, under a Service on a scripted kernel.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/policies/live_events.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {

inline constexpr Address kPage = ScriptedKernel::kPage;
inline constexpr Nanos kOp = 10'000'000;
inline constexpr int kPid = 7;
inline constexpr const char* kMaking = "the plan is being made";

// Tensors of a few pages, none of which begins on one.
inline ChainJob job(int steps) {
  ChainJob out;
  out.steps = steps;
  out.operator_ns = kOp;
  out.weight = 5 * kPage;
  out.activation = 8 * kPage;
  return out;
}

inline Address address_of(ObjectId serial) {
  return 0x40000100 + serial * 0x10000;
}

using Planning =
    std::function<Result<std::optional<Plan>>(const Iteration&, const Room&)>;

// Decides to move object 0 in every window, and plans as it is told to.
class PlanningPolicy final : public Policy {
 public:
  explicit PlanningPolicy(Planning planning) : planning_(std::move(planning)) {}
  std::vector<Move> decide(const View& view) override {
    if (view.objects.empty() || view.objects[0].tier != 1) return {};
    return {{0, 1, 0}};
  }
  double heat(ObjectId) const override { return 0; }
  std::string explain(ObjectId) const override { return "online"; }
  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    return planning_(iteration, room);
  }

 private:
  Planning planning_;
};

class PlanTest : public testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, Bytes{1} << 30, Bytes{1} << 29);
    kernel.add_node(1, Bytes{1} << 30, Bytes{1} << 29);
    kernel.files["proc/sys/kernel/numa_balancing"] = "0\n";
    kernel.add_process(kPid, 0x40000000, 0x1000, 0);
    auto recorded = Iteration::from_trace(job(4).trace(), scripted_machine());
    ASSERT_TRUE(recorded) << recorded.error().message;
    basis = std::make_shared<const PlanBasis>(
        PlanBasis{"job.trace", *std::move(recorded), true, 0});
    planning = [this](const Iteration& iteration, const Room&) {
      return Result<std::optional<Plan>>(weight_swaps(iteration));
    };
  }
  const Iteration& iteration() const { return basis->iteration; }
  std::uint32_t weight() const {
    for (const auto t : iteration().op(1).reads) {
      if (iteration().tensor(t).label == "parameter") return t;
    }
    return 0;
  }
  // Weight 0 goes to slow memory after its forward, back before its backward.
  Plan weight_swaps(const Iteration& it) const {
    return {std::vector<TierId>(it.tensors(), 0),
            {{weight(), 1, 3, 4}, {weight(), 0, 6, 8}},
            "made by hand"};
  }
  void start(Service::Options options = {}, bool wait = true) {
    options.plan = basis;
    auto made = Service::make(kernel, scripted_machine(), options,
                              [this](const std::string&, const std::string&) {
                                return Result<std::unique_ptr<Policy>>(
                                    std::make_unique<PlanningPolicy>(planning));
                              });
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(kPid));
    // The plan is made by another process: until it has answered.
    for (int i = 0; wait && i < 1000 && plan().why == kMaking; ++i) {
      ::usleep(10'000);
      service->glance();
    }
  }
  PlanReport plan() const { return *service->find(kPid)->report().plan; }
  // Hears the job as the loop does: promptly, and at the times asked for.
  void play(const Trace& trace) {
    const auto events = live_events(trace);
    play(std::span(events));
  }
  void play(std::span<const LiveEvent> events) {
    for (const auto& event : events) {
      wait_until(event.time);
      hear(event);
      service->follow_plans();
    }
  }
  void wait_until(Nanos time) {
    for (auto due = service->next_due(); due && *due <= time;) {
      kernel.time = std::max(kernel.time, *due);
      service->follow_plans();
      const auto next = service->next_due();
      if (next == due) break;
      due = next;
    }
    kernel.time = std::max(kernel.time, time);
  }
  void hear(const LiveEvent& event) {
    ObserverEvent out;
    out.pid = kPid;
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      Tensor placed = *tensor;
      placed.address = address_of(tensor->serial);
      out.what = placed;
    } else if (const auto* dead = std::get_if<LiveEvent::Died>(&event.what)) {
      out.what = TensorDied{dead->serial, event.time};
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      out.what = *op;
    } else {
      out.what = std::get<Mark>(event.what);
    }
    service->hear(out);
  }
  // Calls to the kernel that moved pages of a tensor, by node.
  std::vector<int> moves_of(ObjectId serial) const {
    std::vector<int> out;
    for (const auto& call : kernel.calls) {
      if (call.query) continue;
      for (const Address page : call.pages) {
        if (page / 0x10000 == address_of(serial) / 0x10000) {
          out.push_back(call.node);
          break;
        }
      }
    }
    return out;
  }
  std::uint64_t refused(Refusal why) {
    kernel.time += 1;
    service->end_window();
    return service->moves().refused[static_cast<std::size_t>(why)];
  }

  ScriptedKernel kernel;
  std::shared_ptr<const PlanBasis> basis;
  Planning planning;
  std::unique_ptr<Service> service;
};

}  // namespace thermocline
