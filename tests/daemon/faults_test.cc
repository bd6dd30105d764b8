// What the world can do to a service, at random and all at once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <random>
#include <stdexcept>

#include "daemon/service.h"
#include "tests/daemon/scripted_policy.h"
#include "tests/daemon/threaded_kernel.h"

namespace thermocline {
namespace {

constexpr Address kBase = Address{1} << 30;
constexpr Address kPage = ScriptedKernel::kPage;
constexpr std::uint64_t kPages = 16 * 64;  // 16 regions a process
constexpr Bytes kRegion = 64 * kPage;
constexpr Bytes kGiB = Bytes{1} << 30;
constexpr Nanos kSecond = 1'000'000'000;

// Answers with nonsense of every kind, and with sense now and then.
class Erratic final : public Policy {
 public:
  explicit Erratic(std::mt19937_64& random) : random_(random) {}
  std::vector<Move> decide(const View& view) override {
    const auto objects = static_cast<ObjectId>(view.objects.size());
    std::vector<Move> out;
    if (objects == 0) return out;
    switch (random_() % 8) {
      case 0: throw std::runtime_error("a bad day");
      case 1:  // far too many, all alike
        out.assign(50'000, {0, 1, 0});
        break;
      case 2:  // of what does not exist
        out = {{objects, 0, 1}, {kNoObject, 1, 0}, {0, 200, 201}};
        break;
      default:
        for (ObjectId id = 0; id < objects; ++id) {
          const TierId to = random_() % 2;
          out.push_back({id, static_cast<TierId>(1 - to), to});
        }
    }
    return out;
  }
  double heat(ObjectId) const override {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::string explain(ObjectId) const override { return "who knows"; }

 private:
  std::mt19937_64& random_;
};

// With a thread for moves and without one.
class FaultsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    add_nodes(kernel);
    Service::Options options;
    options.threads = GetParam();
    options.target.tied.patience = 60'000'000'000;  // looks take no window
    options.budget = 8 * kRegion;
    options.policy_guard.deadline_ns = 0;  // `random` is ours alone
    auto made = Service::make(kernel, scripted_machine(), options,
                              [this](const std::string&, const std::string&) {
                                return Result<std::unique_ptr<Policy>>(
                                    std::make_unique<Erratic>(random));
                              });
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
  }
  static void add_nodes(ThreadedKernel& kernel) {
    kernel.tables.add_node(0, kGiB, kGiB / 2);
    kernel.tables.add_node(1, kGiB, kGiB / 2);
  }
  static std::string maps(Address start) {
    return ScriptedKernel::maps_line(start, start + kPages * kPage);
  }
  // Starts it, or what exec puts in its place at another address.
  static void run(ScriptedKernel& k, int pid, int started, Address start) {
    const auto base = "proc/" + std::to_string(pid);
    k.files[base + "/stat"] = ScriptedKernel::stat_line(pid, "job", started);
    k.files[base + "/maps"] = maps(start);
    for (std::uint64_t i = 0; i < kPages; ++i) {
      k.node_of.try_emplace(start + i * kPage, 1);
    }
  }
  // One thing that goes wrong, or right again.
  void disturb(ScriptedKernel& k, int window) {
    static constexpr int kErrors[] = {ESRCH, EPERM, ENOMEM, EFAULT, EIO};
    const int pid = static_cast<int>(100 + random() % 8);
    const auto base = "proc/" + std::to_string(pid);
    const auto page = kBase + random() % kPages * kPage;
    switch (random() % 12) {
      case 0: k.call_error = kErrors[random() % 5]; break;
      case 1: k.move_error = kErrors[random() % 5]; break;
      case 2: k.pinned.insert(page); break;
      case 3: k.status_error[page] = random() % 2 ? EBUSY : EACCES; break;
      case 4: k.remove_process(pid); break;
      case 5: run(k, pid, window, kBase); break;  // perhaps with a pid reused
      case 6: run(k, pid, 1, kBase + (Address{1} << 32)); break;  // exec
      case 7: k.files[base + "/maps"] = "7f00-7e00 rw-p\nnonsense"; break;
      case 8: k.files[base + "/stat"].resize(20); break;
      case 9: k.room[0] = random() % 100; break;  // the node is nearly full
      case 10:
        k.files["sys/devices/system/node/node0/meminfo"] = "no such words";
        break;
      default:
        k.call_error = k.move_error = 0;
        k.pinned.clear();
        k.status_error.clear();
        k.room.clear();
        k.add_node(0, kGiB, kGiB / 2);
    }
  }

  std::mt19937_64 random{20'231'117};
  ThreadedKernel kernel;
  std::unique_ptr<Service> service;
};

TEST_P(FaultsTest, WhateverHappensItGoesOnAndKeepsItsBooks) {
  std::uint64_t attached = 0;
  Nanos time = 0;
  for (int window = 1; window <= 1500; ++window) {
    // Clocks that stand still, run back and jump ahead.
    time += random() % 20 == 0 ? -kSecond : Nanos(random() % 3) * kSecond;
    if (random() % 200 == 0) time += 100'000 * kSecond;
    kernel.change([&](ScriptedKernel& k) {
      disturb(k, window);
      k.time = time;
    });
    const int pid = static_cast<int>(100 + random() % 8);
    if (service->find(pid) == nullptr) {
      attached += service->attach(pid) ? 1 : 0;
    } else if (random() % 50 == 0) {
      EXPECT_TRUE(service->detach(pid));
    }
    SampleBatch batch;
    for (int i = 0; i < 50; ++i) {
      Sample sample;
      sample.address = kBase + random() % (2 * kPages) * kPage;
      sample.period = 1000;
      batch.samples.push_back(sample);
    }
    service->add(batch);
    service->end_window();
    for (const auto& one : service->managed()) {
      EXPECT_EQ(one->heat(0), 0);  // never what is no number
      ASSERT_LE(one->target().footprint(), 64 * kPages * kPage);
    }
  }
  service->finish_moves();
  EXPECT_GT(attached, 50u);
  EXPECT_GT(service->moves().moved_bytes(), 100 * kRegion);
  EXPECT_FALSE(service->moves().failed.empty());
  // All is well again: what it knows of a target is what is so.
  kernel.change([&](ScriptedKernel& k) {
    k.call_error = k.move_error = 0;
    k.pinned.clear();
    k.status_error.clear();
    k.room.clear();
    k.add_node(0, kGiB, kGiB / 2);
    run(k, 99, 1, kBase);
  });
  ASSERT_TRUE(service->attach(99));
  service->finish_moves();
  std::uint64_t fast = 0;
  for (std::uint64_t i = 0; i < kPages; ++i) {
    fast += kernel.tables.node_of[kBase + i * kPage] == 0;
  }
  EXPECT_EQ(service->find(99)->target().footprint(0), fast * kPage);
}

TEST_P(FaultsTest, AFloodOfSamplesIsBoundedAndCounted) {
  kernel.change([](ScriptedKernel& k) { run(k, 99, 1, kBase); });
  ASSERT_TRUE(service->attach(99));
  constexpr std::uint64_t kFlood = 409'600;
  SampleBatch batch;
  batch.lost = 12;
  for (std::uint64_t i = 0; i < kFlood; ++i) {
    Sample sample;
    sample.address = kBase + i % (4 * kPages) * kPage;  // three of four foreign
    sample.period = 10;
    batch.samples.push_back(sample);
  }
  service->add(batch);
  const auto report = service->end_window();
  EXPECT_EQ(report.samples.samples, kFlood / 4);
  EXPECT_EQ(report.samples.foreign, kFlood / 4 * 3);
  EXPECT_EQ(report.samples.lost, 12u);
}

INSTANTIATE_TEST_SUITE_P(Moves, FaultsTest, ::testing::Bool(),
                         [](const auto& with) {
                           return with.param ? "Beside" : "InTurn";
                         });

// Two kernels' claims on one process, as two daemons have them.
TEST(Claim, TheSecondOneIsRefused) {
  const auto one = open_kernel();
  const auto other = open_kernel();
  const int self = static_cast<int>(::getpid());
  {
    const auto claim = one->claim(self);
    ASSERT_TRUE(claim) << claim.error().message;
    const auto second = other->claim(self);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Error::Code::kInvalid);
    EXPECT_NE(second.error().message.find("another"), std::string::npos);
  }
  EXPECT_TRUE(other->claim(self));  // given up with its holder
  EXPECT_EQ(one->claim(1 << 22).error().code, Error::Code::kNotFound);
}

}  // namespace
}  // namespace thermocline
