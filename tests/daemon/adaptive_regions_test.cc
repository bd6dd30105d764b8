// A process with more memory than there are regions for: what is small and hot
// in it is found, moved and let go again, by the service as it is.
#include <gtest/gtest.h>

#include <random>

#include "daemon/policy_maker.h"
#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 40;
constexpr Bytes kMiB = Bytes{1} << 20;
constexpr Bytes kMemory = 256 * kMiB;
constexpr Bytes kGrid = 256 * 1024;
constexpr Nanos kSecond = 1'000'000'000;

class AdaptiveRegions : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, 8 * kMiB, 8 * kMiB);
    kernel.add_node(1, 4 * kMemory, 2 * kMemory);
    kernel.add_process(7, kBase, kMemory / ScriptedKernel::kPage, 1);
    Service::Options options;
    options.policy = "hottest_first";
    options.threads = false;
    options.target.regions = 256;  // the grid's would be 1,024
    Machine machine = scripted_machine();
    machine.tiers[0].capacity = 8 * kMiB;
    auto made = Service::make(kernel, machine, options, make_policy);
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
  }
  // Samples of one window: most of them where it is hot.
  void window(Address hot) {
    SampleBatch batch;
    for (int i = 0; i < 200; ++i) {
      Sample sample;
      sample.address =
          i % 4 == 0 ? kBase + random() % kMemory : hot + random() % kGrid;
      sample.period = 1000;
      batch.samples.push_back(sample);
    }
    service->add(batch);
    kernel.time += kSecond;
    service->end_window();
    service->finish_moves();
    check_books();
  }
  // Its regions cover all of it once, and what lies where is what the kernel
  // says.
  void check_books() {
    const Target& target = service->find(7)->target();
    Bytes sum = 0;
    std::size_t alive = 0;
    for (ObjectId id = 0; id < target.size(); ++id) {
      const Region& region = target.region(id);
      sum += region.bytes();
      alive += region.bytes() > 0 ? 1 : 0;
      if (region.bytes() == 0) continue;
      ASSERT_EQ(target.find(region.start), id);
    }
    ASSERT_EQ(sum, kMemory);
    ASSERT_LE(alive, 256u);
  }
  Bytes in_fast(Address start, Bytes bytes) {
    Bytes sum = 0;
    for (Address at = start; at < start + bytes; at += ScriptedKernel::kPage) {
      if (kernel.node_of[at] == 0) sum += ScriptedKernel::kPage;
    }
    return sum;
  }

  std::mt19937_64 random{1};
  ScriptedKernel kernel;
  std::unique_ptr<Service> service;
};

TEST_F(AdaptiveRegions, TheHotPartAloneIsSmallAndFast) {
  const Address hot = kBase + 100 * kMiB;
  const Target& target = service->find(7)->target();
  EXPECT_EQ(target.unmanaged(), 0u);
  EXPECT_GT(target.region(*target.find(hot)).bytes(), kGrid);
  for (int i = 0; i < 60; ++i) window(hot);
  EXPECT_EQ(target.region(*target.find(hot)).bytes(), kGrid);
  EXPECT_EQ(in_fast(hot, kGrid), kGrid);
  EXPECT_EQ(target.footprint(), kMemory);
}

TEST_F(AdaptiveRegions, AnotherIsFoundWhenItMoves) {
  for (int spot = 0; spot < 6; ++spot) {
    const Address hot = kBase + static_cast<Address>(spot) * 40 * kMiB;
    for (int i = 0; i < 60; ++i) window(hot);
    const Target& target = service->find(7)->target();
    EXPECT_EQ(target.region(*target.find(hot)).bytes(), kGrid) << spot;
    EXPECT_EQ(in_fast(hot, kGrid), kGrid) << spot;
  }
}

}  // namespace
}  // namespace thermocline
