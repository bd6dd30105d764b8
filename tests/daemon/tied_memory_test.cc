// Which memory its job tied down, and how often one may look.
#include "daemon/tied_memory.h"

#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/threaded_kernel.h"

namespace thermocline {
namespace {

constexpr Nanos kSecond = 1'000'000'000;
const std::string kPolicies = "proc/7/numa_maps";

Area area(Address start, Address end) {
  Area out;
  out.start = start;
  out.end = end;
  out.permissions = "rw-p";
  return out;
}

bool holds(const TiedMemory& tied, const Area& area) {
  return tied.tie(area) != Tie::kNone;
}

class TiedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { kernel.files[kPolicies] = "1000 default anon=1\n"; }
  // A window of a second, with these areas.
  void window(std::vector<Area> areas, bool changed = true) {
    kernel.time += kSecond;
    tied.see(7, areas, changed);
  }
  bool looks(std::vector<Area> areas, bool changed = true) {
    // Whoever looks finds the first page tied.
    kernel.files[kPolicies] = "1000 bind:0 anon=1\n";
    window(areas, changed);
    return holds(tied, areas[0]);
  }

  ScriptedKernel kernel;
  TiedMemory tied{kernel, {}};
  const Area one = area(0x1000, 0x3000);
  const Area other = area(0x5000, 0x9000);
};

TEST_F(TiedMemoryTest, NewAreasAreLookedAtAtOnce) {
  window({one});
  EXPECT_FALSE(holds(tied, one));
  EXPECT_FALSE(looks({one}, false)) << "nothing is new";
  EXPECT_TRUE(looks({one, other}));
}

TEST_F(TiedMemoryTest, APartIsNewAndWhatHasGrownIsNot) {
  window({one});
  EXPECT_FALSE(looks({area(0x1000, 0x4000)})) << "its policy is the old one";
  EXPECT_TRUE(looks({area(0x1000, 0x2000), area(0x2000, 0x3000)}));
}

TEST_F(TiedMemoryTest, NowAndThenItLooksAnyway) {
  window({one});
  for (int i = 1; i < 64; ++i) ASSERT_FALSE(looks({one}, false)) << i;
  EXPECT_TRUE(looks({one}, false));
}

TEST_F(TiedMemoryTest, WhatIsLockedLaterIsSeenInTheNextWindow) {
  window({one});
  kernel.files["proc/7/status"] = "VmLck:\t       8 kB\n";
  kernel.files["proc/7/smaps"] =
      ScriptedKernel::maps_line(0x1000, 0x3000) + "VmFlags: rd wr lo ac\n";
  window({one}, false);
  EXPECT_EQ(tied.tie(one), Tie::kLocked);
  kernel.files["proc/7/status"] = "VmLck:\t       0 kB\n";
  window({one}, false);
  EXPECT_FALSE(holds(tied, one));
}

TEST_F(TiedMemoryTest, LooksTakeLittleOfTheTime) {
  kernel.takes[kPolicies] = kSecond / 10;
  Nanos looked = 0;
  for (int i = 0; i < 1000; ++i) {
    const Address start = 0x1000 + 0x1000 * static_cast<Address>(i);
    const Nanos began = kernel.time;
    window({area(start, start + 0x1000)});
    looked += kernel.time - began - kSecond;
  }
  EXPECT_GT(looked, 0);
  EXPECT_LE(looked, kernel.time / 190);
}

TEST_F(TiedMemoryTest, ProcessesThatTieAreNotTrustedWithWhatIsNew) {
  kernel.takes[kPolicies] = kSecond;  // the next look must wait
  window({one});
  window({one, other});
  EXPECT_FALSE(holds(tied, other)) << "it has tied nothing so far";
  TiedMemory ties(kernel, {});
  kernel.files[kPolicies] = "f000 bind:0 anon=1\n";
  ties.see(7, std::vector<Area>{one}, true);
  EXPECT_FALSE(holds(ties, one));
  ties.see(7, std::vector<Area>{one, other}, true);
  EXPECT_FALSE(holds(ties, one));
  EXPECT_EQ(ties.tie(other), Tie::kNew);
  kernel.time += 201 * kSecond;
  ties.see(7, std::vector<Area>{one, other}, false);
  EXPECT_FALSE(holds(ties, other)) << "looked at by now";
}

// Libraries lock a page for their keys: what a job maps anew is free all the
// same, unless it has locked more or what it locked may be elsewhere now.
TEST_F(TiedMemoryTest, ALittleThatIsLockedSpoilsNothingElse) {
  const auto lock = [&](int kib, std::vector<Area> areas) {
    kernel.files["proc/7/status"] =
        "VmLck:\t       " + std::to_string(kib) + " kB\n";
    auto& smaps = kernel.files["proc/7/smaps"];
    smaps.clear();
    for (const Area& one : areas) {
      smaps += ScriptedKernel::maps_line(one.start, one.end) +
               "VmFlags: rd wr lo ac\n";
    }
  };
  const Area more = area(0xa000, 0xb000);
  lock(8, {one});
  kernel.takes[kPolicies] = kSecond;  // the next look must wait
  window({one});
  EXPECT_EQ(tied.tie(one), Tie::kLocked);
  window({one, other});
  EXPECT_EQ(tied.tie(other), Tie::kNone);
  lock(12, {one, more});
  window({one, other, more});
  EXPECT_EQ(tied.tie(more), Tie::kNew);
  lock(8, {one});
  window({one, other}, true);
  EXPECT_EQ(tied.tie(other), Tie::kNone);
  const Area part = area(0x1000, 0x2000);
  lock(4, {part});
  window({part, other});
  EXPECT_EQ(tied.tie(part), Tie::kNew) << "a part of what was locked";
  lock(8, {more});
  window({more, other});
  EXPECT_EQ(tied.tie(more), Tie::kNew) << "mremap() keeps the lock";
  kernel.time += 300 * kSecond;
  window({more, other}, false);
  EXPECT_EQ(tied.tie(more), Tie::kLocked);
  EXPECT_EQ(tied.tie(other), Tie::kNone);
}

TEST_F(TiedMemoryTest, WhatCannotBeReadIsTied) {
  kernel.forbidden.insert(kPolicies);
  window({one});
  EXPECT_EQ(tied.tie(one), Tie::kUnreadable);
  EXPECT_NE(tied.trouble().find("\"move_bound\": true"), std::string::npos);
  kernel.forbidden.clear();
  window({one}, false);
  EXPECT_FALSE(holds(tied, one));
  EXPECT_EQ(tied.trouble(), "");
  // And of what it locked.
  kernel.files["proc/7/status"] = "VmLck:\t       8 kB\n";
  kernel.forbidden.insert("proc/7/smaps");
  window({one}, false);
  EXPECT_TRUE(holds(tied, one));
  EXPECT_NE(tied.trouble().find("\"move_locked\": true"), std::string::npos);
}

TEST_F(TiedMemoryTest, AKernelWithoutPoliciesTiesNothing) {
  kernel.files.erase(kPolicies);
  window({one});
  EXPECT_FALSE(holds(tied, one));
  EXPECT_EQ(tied.trouble(), "");
}

TEST_F(TiedMemoryTest, ReservedHugePagesAreLeftAloneWhateverMayBeMoved) {
  kernel.files[kPolicies] =
      "1000 bind:0 anon=1\n5000 default file=/anon_hugepage huge anon=1\n";
  kernel.files["proc/7/status"] = "VmLck:\t       8 kB\n";
  kernel.forbidden.insert("proc/7/smaps");
  TiedMemory all(kernel, {.move_bound = true, .move_locked = true});
  all.see(7, std::vector<Area>{one, other}, true);
  EXPECT_FALSE(holds(all, one));
  EXPECT_EQ(all.tie(other), Tie::kReserved);
  EXPECT_EQ(all.trouble(), "");
}

// Nobody waits for a look that takes long.
class TiedMemoryAside : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.slow_file(kPolicies);
    kernel.tables.takes[kPolicies] = kSecond;
  }
  void policies(const std::string& text) {
    kernel.change([&](ScriptedKernel& tables) {
      tables.files[kPolicies] = text;
      tables.time += 1000 * kSecond;  // the next look may begin
    });
  }
  void window(const std::vector<Area>& areas) { tied.see(7, areas, true); }
  // In one of the next windows; a test that waits for ever fails.
  void until(const std::vector<Area>& areas, std::size_t area, Tie tie) {
    do window(areas);
    while (tied.tie(areas[area]) != tie);
  }
  ThreadedKernel kernel;
  TiedMemory tied{kernel, {.aside = true, .patience = 0}};
  const std::vector<Area> two{area(0x1000, 0x3000), area(0x5000, 0x9000)};
  const std::vector<Area> three{two[0], two[1], area(0xa000, 0xb000)};
};

TEST_F(TiedMemoryAside, NothingIsFreeBeforeTheFirstLookIsOver) {
  policies("5000 bind:0 anon=1\n");
  kernel.shut();
  for (int i = 0; i < 3; ++i) {
    window(two);
    EXPECT_EQ(tied.tie(two[0]), Tie::kNew);
  }
  kernel.open();
  until(two, 0, Tie::kNone);
  EXPECT_EQ(tied.tie(two[1]), Tie::kBound);
}

TEST_F(TiedMemoryAside, WhatCameWhileItLookedIsNotKnownFromIt) {
  policies("5000 bind:0 anon=1\n");
  until({two[0]}, 0, Tie::kNone);
  kernel.shut();
  policies("5000 bind:0 anon=1\n");
  window(two);  // a look begins
  window(three);
  kernel.open();
  until(three, 1, Tie::kBound);
  EXPECT_EQ(tied.tie(three[2]), Tie::kNew);
  policies("5000 bind:0 anon=1\n");
  until(three, 2, Tie::kNone);
}

TEST_F(TiedMemoryAside, WhatIsLockedIsNotFreeWhileItIsLookedFor) {
  policies("");
  until({two[0]}, 0, Tie::kNone);
  kernel.shut();
  kernel.change([](ScriptedKernel& tables) {
    tables.files["proc/7/status"] = "VmLck:\t       8 kB\n";
    tables.files["proc/7/smaps"] =
        ScriptedKernel::maps_line(0x5000, 0x9000) + "VmFlags: rd wr lo ac\n";
  });
  policies("");
  for (int i = 0; i < 3; ++i) {
    window(two);
    EXPECT_EQ(tied.tie(two[1]), Tie::kNew);
  }
  kernel.open();
  until(two, 1, Tie::kLocked);
}

// As this kernel tells of this process.
class TiedOnThisKernel : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  void SetUp() override {
    memory = ::mmap(nullptr, 3 * kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::memset(memory, 1, 3 * kBytes);
  }
  void TearDown() override { ::munmap(memory, 3 * kBytes); }
  char* middle() const { return static_cast<char*>(memory) + kBytes; }
  // Whether the middle is tied, and its neighbours are not, as soon as a look
  // may be taken: 200 times what the last one took.
  bool soon(bool wanted) {
    for (int i = 0; i < 600; ++i) {
      const auto maps = parse_maps(*kernel->read_file("proc/self/maps"));
      tied.see(::getpid(), maps.areas, true);
      const auto at = [&](const char* place) {
        const auto address = reinterpret_cast<Address>(place);
        return holds(tied,
                     *std::ranges::find_if(maps.areas, [&](const Area& one) {
                       return address < one.end;
                     }));
      };
      if (at(middle()) == wanted && !at(middle() - 1) &&
          !at(middle() + kBytes)) {
        return true;
      }
      ::usleep(100'000);
    }
    return false;
  }

  const std::unique_ptr<Kernel> kernel = open_kernel();
  TiedMemory tied{*kernel, {.every = 1}};  // as often as it may
  void* memory = nullptr;
};

TEST_F(TiedOnThisKernel, WhatIsBoundOrLockedInTheMiddle) {
  EXPECT_TRUE(soon(false));
  const unsigned long node = 1;
  ASSERT_EQ(::mbind(middle(), kBytes, MPOL_BIND, &node, 64, 0), 0);
  EXPECT_TRUE(soon(true));
  ASSERT_EQ(::mbind(middle(), kBytes, MPOL_DEFAULT, nullptr, 0, 0), 0);
  EXPECT_TRUE(soon(false));
  // Not by mlock(), which the sanitizers make do nothing.
  ASSERT_EQ(::syscall(SYS_mlock, middle(), kBytes), 0);
  EXPECT_TRUE(soon(true));
}

}  // namespace
}  // namespace thermocline
