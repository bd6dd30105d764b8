// ServiceTest: a service with one target, four regions of which all are slow,
// on a scripted kernel and with a scripted policy.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {

class ServiceTest : public ::testing::Test {
 protected:
  static constexpr Address kBase = Address{1} << 30;
  static constexpr Address kPage = ScriptedKernel::kPage;
  static constexpr Bytes kRegion = 64 * kPage;
  static constexpr Bytes kGiB = Bytes{1} << 30;

  void SetUp() override {
    kernel.add_node(0, kGiB, kGiB / 2);
    kernel.add_node(1, kGiB, kGiB / 2);
    kernel.files["proc/sys/kernel/numa_balancing"] = "0\n";
    kernel.add_process(7, kBase, 4 * 64, 1);  // regions 0 to 3, all slow
  }
  void start(Service::Options options = {}) {
    auto made = Service::make(kernel, machine, options, scripted(script));
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
  }
  WindowReport window() {
    kernel.time += 1'000'000'000;
    return service->end_window();
  }
  static Sample at(Address address, Access access = Access::kLoad,
                   std::uint32_t period = 10) {
    Sample sample;
    sample.address = address;
    sample.access = access;
    sample.period = period;
    return sample;
  }
  void sample(std::initializer_list<Sample> samples) {
    SampleBatch batch;
    batch.samples = samples;
    service->add(batch);
  }

  ScriptedKernel kernel;
  Machine machine = scripted_machine();
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Service> service;
};

}  // namespace thermocline
