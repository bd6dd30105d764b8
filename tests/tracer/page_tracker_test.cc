// The kernel's page trackers on files in the kernel's form. Soft-dirty bits are
// tested on a real kernel, in the emulated machine
// (tests/machine/guest_test.sh).
#include "tracer/page_tracker.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "tracer/page_sampler.h"
#include "tracer/pagemap.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;
constexpr Bytes kPage = Pagemap::kPage;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "pages.XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(path_ + "/" + file).parent_path());
    std::ofstream(path_ + "/" + file, std::ios::binary) << text;
  }
  std::string get(const std::string& file) const {
    std::ifstream in(path_ + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  KernelFiles files() const { return {path_ + "/proc", path_ + "/sys"}; }

 private:
  std::string path_;
};

// Entries of a pagemap, from page 0 on.
std::string entries(std::initializer_list<std::uint64_t> values) {
  std::string bytes;
  for (const std::uint64_t value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

Area area(Address start, Address end, const char* permissions = "rw-p") {
  return {start, end, permissions, 0, ""};
}

// What the tracker finds after the job has `worked`.
template <typename Work>
std::vector<PageTouch> found(PageTracker& tracker, std::vector<Area> areas,
                             Work worked) {
  std::vector<PageTouch> none, touched;
  EXPECT_TRUE(tracker.scan(areas, none));
  EXPECT_TRUE(none.empty()) << "the first look only begins";
  worked();
  EXPECT_TRUE(tracker.scan(areas, touched));
  return touched;
}

TEST(IdlePages, ThoseWhoseBitTheKernelClearedWereTouched) {
  const Folder folder;
  constexpr auto kHere = Pagemap::kPresent;
  // Pages 1 to 5 in frames 65, 64, 3, none, 200.
  folder.put("proc/42/pagemap",
             entries({0, kHere | 65, kHere | 64, kHere | 3, 0, kHere | 200}));
  folder.put("sys/kernel/mm/page_idle/bitmap", std::string(32, '\0'));
  auto tracker = open_idle_pages(42, folder.files());
  ASSERT_TRUE(tracker) << tracker.error().message;
  EXPECT_EQ((*tracker)->access(), Access::kLoad);
  const auto touched = found(**tracker, {area(kPage, 6 * kPage)}, [&] {
    // All four were marked; frames 65 and 64 were touched since.
    EXPECT_EQ(folder.get("sys/kernel/mm/page_idle/bitmap"),
              entries({8, 3, 0, 1 << 8}));
    folder.put("sys/kernel/mm/page_idle/bitmap", entries({8, 0, 0, 1 << 8}));
  });
  EXPECT_EQ(touched, (std::vector<PageTouch>{{kPage, 2 * kPage}}));
  EXPECT_EQ(folder.get("sys/kernel/mm/page_idle/bitmap"),
            entries({8, 3, 0, 1 << 8}))
      << "marked anew";
}

TEST(IdlePages, AKernelWithoutThemIsToldOf) {
  const Folder folder;
  const auto tracker = open_idle_pages(42, folder.files());
  ASSERT_FALSE(tracker);
  EXPECT_NE(tracker.error().message.find("CONFIG_IDLE_PAGE_TRACKING"),
            std::string::npos);
}

class DamonTest : public testing::Test {
 protected:
  DamonTest() {
    folder_.put(kAll + "nr_kdamonds", "0\n");
    for (const char* file :
         {"state", "contexts/nr_contexts", "contexts/0/operations",
          "contexts/0/targets/nr_targets", "contexts/0/targets/0/pid_target",
          "contexts/0/schemes/nr_schemes", "contexts/0/schemes/0/action",
          "contexts/0/schemes/0/access_pattern/sz/max",
          "contexts/0/schemes/0/access_pattern/nr_accesses/min",
          "contexts/0/schemes/0/access_pattern/nr_accesses/max",
          "contexts/0/schemes/0/access_pattern/age/max"}) {
      folder_.put(kAll + "0/" + file, "");
    }
  }
  void region(int number, Address start, Address end, int accesses) {
    const std::string at = kAll + "0/contexts/0/schemes/0/tried_regions/" +
                           std::to_string(number) + "/";
    folder_.put(at + "start", std::to_string(start) + "\n");
    folder_.put(at + "end", std::to_string(end) + "\n");
    folder_.put(at + "nr_accesses", std::to_string(accesses) + "\n");
    folder_.put(at + "age", "3\n");
  }
  const std::string kAll = "sys/kernel/mm/damon/admin/kdamonds/";
  Folder folder_;
};

TEST_F(DamonTest, ItsRegionsAreTouchedAsOftenAsItSays) {
  region(0, 0x10000, 0x30000, 7);
  {
    auto tracker = open_damon(42, folder_.files());
    ASSERT_TRUE(tracker) << tracker.error().message;
    EXPECT_EQ(folder_.get(kAll + "0/state"), "on");
    EXPECT_EQ(folder_.get(kAll + "0/contexts/0/operations"), "vaddr");
    EXPECT_EQ(folder_.get(kAll + "0/contexts/0/targets/0/pid_target"), "42");
    const auto touched = found(**tracker, {}, [] {});
    EXPECT_EQ(folder_.get(kAll + "0/state"), "update_schemes_tried_regions");
    EXPECT_EQ(touched, (std::vector<PageTouch>{{0x10000, 0x20000, 7}}));
  }
  EXPECT_EQ(folder_.get(kAll + "0/state").substr(0, 3), "off");
}

TEST_F(DamonTest, OneThatWatchesNoProcessesIsToldOfAndPutBack) {
  folder_.put(kAll + "0/contexts/0/avail_operations", "paddr\n");
  const auto tracker = open_damon(42, folder_.files());
  ASSERT_FALSE(tracker);
  EXPECT_NE(tracker.error().message.find("CONFIG_DAMON_VADDR"),
            std::string::npos);
  EXPECT_EQ(folder_.get(kAll + "nr_kdamonds").substr(0, 1), "0");
}

TEST_F(DamonTest, AnothersIsLeftAlone) {
  folder_.put(kAll + "nr_kdamonds", "1\n");
  const auto tracker = open_damon(42, folder_.files());
  ASSERT_FALSE(tracker);
  EXPECT_NE(tracker.error().message.find("in use by another program"),
            std::string::npos);
  EXPECT_EQ(folder_.get(kAll + "nr_kdamonds"), "1\n");
}

TEST(PageTracker, UnknownNamesAndKernelsWithoutAny) {
  const Folder folder;
  auto tracker = open_page_tracker("tarot", 42, folder.files());
  ASSERT_FALSE(tracker);
  EXPECT_EQ(tracker.error().code, Error::Code::kInvalid);
  tracker = open_page_tracker("", 42, folder.files());
  ASSERT_FALSE(tracker);
  for (const char* name : {"idle: ", "damon: ", "soft-dirty: "}) {
    EXPECT_NE(tracker.error().message.find(name), std::string::npos) << name;
  }
}

TEST(PageSamples, OneForEachPageWhileThereAreFew) {
  const std::vector<PageTouch> touched{{kPage, 2 * kPage},
                                       {9 * kPage, kPage, 5}};
  const auto samples = page_samples(touched, Access::kStore, 42, 1000, 8);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[1].address, 2 * kPage);
  EXPECT_EQ(samples[1].period, 1u);
  EXPECT_EQ(samples[2].period, 5u);
  for (const Sample& sample : samples) {
    EXPECT_EQ(sample.access, Access::kStore);
    EXPECT_EQ(sample.thread, 42u);
    EXPECT_EQ(sample.time, 1000);
    EXPECT_EQ(sample.latency, 0u);
  }
}

TEST(PageSamples, WhatTheyStandForStaysTheSameWhenThereAreMany) {
  const std::vector<PageTouch> touched{{0, 1000 * kPage}, {1 << 30, 7 * kPage}};
  const auto samples = page_samples(touched, Access::kLoad, 1, 0, 100);
  EXPECT_LE(samples.size(), 100u);
  EXPECT_GE(samples.size(), 50u);
  std::uint64_t pages = 0;
  for (const Sample& sample : samples) pages += sample.period;
  EXPECT_EQ(pages, 1007u);
}

// A tracker that finds one page at each look, and costs `cost`.
struct Costly final : PageTracker {
  Costly(Nanos& of_thread, Nanos each) : cpu(of_thread), cost(each) {}
  std::string name() const override { return "costly"; }
  Access access() const override { return Access::kLoad; }
  Status scan(std::span<const Area> areas,
              std::vector<PageTouch>& touched) override {
    EXPECT_FALSE(areas.empty());
    touched.push_back({kPage, kPage});
    cpu += cost;
    return {};
  }
  Nanos& cpu;
  Nanos cost;
};

TEST(PageSampler, LooksNoMoreOftenThanItsBudgetAllows) {
  Nanos cpu = 0;
  PageSampling options;
  options.budget = 0.5;
  options.shortest = 1'000'000;
  options.now = [] { return Nanos{77}; };
  options.cpu_time = [&] { return cpu; };
  auto sampler = open_pages(
      getpid(), std::make_unique<Costly>(cpu, 1'000'000'000), options);
  ASSERT_TRUE(sampler);
  EXPECT_EQ((*sampler)->kind(), "pages:costly");
  auto batch = (*sampler)->read(std::chrono::seconds(10));
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->samples.size(), 1u);
  EXPECT_EQ(batch->newest, 77);
  // The second look follows at once, or a short job would have ended.
  batch = (*sampler)->read(std::chrono::seconds(10));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->samples.size(), 1u);
  // The next is due four seconds later: two for each.
  batch = (*sampler)->read(std::chrono::milliseconds(100));
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->samples.empty());
}

TEST(PageSampler, EndsWithTheProcess) {
  const Folder folder;
  folder.put("proc/42/maps", "");
  Nanos cpu = 0;
  PageSampling options;
  options.files = folder.files();
  options.now = [] { return Nanos{1}; };
  options.cpu_time = [&] { return cpu; };
  auto sampler = open_pages(42, std::make_unique<Costly>(cpu, 1), options);
  ASSERT_TRUE(sampler);
  const auto batch = (*sampler)->read(std::chrono::seconds(10));
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->ended);
}

}  // namespace
}  // namespace thermocline
