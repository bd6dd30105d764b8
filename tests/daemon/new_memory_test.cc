// Memory that a job maps while it is managed: mapped first, written afterwards.
#include <optional>

#include "tests/daemon/target_fixture.h"

namespace thermocline {
namespace {

// As if nothing but its turn would come for a long time.
class NewMemory : public TargetTest {
 protected:
  NewMemory() {
    kernel.add_process(7, kBase, kPages, 1);
    target.emplace(*attach({.pages_per_window = 512, .pages_when_steady = 64}));
    for (int i = 0; i < 100; ++i) refresh();
  }
  void refresh() { ASSERT_TRUE(target->refresh()); }
  void map(Address start, std::uint64_t pages) {
    kernel.files["proc/7/maps"] =
        ScriptedKernel::maps_line(kBase, kBase + kPages * kPage) +
        ScriptedKernel::maps_line(start, start + pages * kPage);
  }
  void write(Address start, std::uint64_t pages) {
    for (std::uint64_t i = 0; i < pages; ++i) {
      kernel.node_of[start + i * kPage] = 1;
    }
  }
  Bytes known(Address at) { return target->bytes(*target->find(at)); }

  static constexpr std::uint64_t kPages = 64 * 256;
  static constexpr Address kNew = kBase * 4;
  std::optional<Target> target;
};

TEST_F(NewMemory, IsAskedAboutAgainSoon) {
  map(kNew, 64);
  refresh();
  EXPECT_EQ(known(kNew), 0u);
  write(kNew, 16);
  refresh();
  EXPECT_EQ(known(kNew), 16 * kPage);
  write(kNew, 64);
  for (int i = 0; i < 2; ++i) refresh();
  EXPECT_EQ(known(kNew), kRegion);
}

TEST_F(NewMemory, IsNewWhereOtherMemoryWas) {
  write(kNew, 64);
  map(kNew, 64);
  refresh();
  EXPECT_EQ(known(kNew), kRegion);
  map(kBase, kPages);  // unmapped
  for (int i = 0; i < 40; ++i) refresh();
  EXPECT_EQ(known(kNew), 0u);
  map(kNew, 64);
  refresh();
  EXPECT_EQ(known(kNew), kRegion);
}

// What is mapped and hardly used must not keep a window from the rest.
TEST_F(NewMemory, ThatStaysEmptyTakesNoMoreThanAShare) {
  map(kNew, 64 * 64);
  for (int i = 0; i < 8; ++i) refresh();  // so long they come first
  std::size_t old = 0;
  for (int i = 0; i < 100; ++i) {
    kernel.calls.clear();
    refresh();
    std::size_t asked = 0;
    for (const auto& call : kernel.calls) {
      for (const Address page : call.pages) old += page < kNew ? 1 : 0;
      asked += call.pages.size();
    }
    EXPECT_LE(asked, 512u);
    if (i > 80) EXPECT_LE(asked, 64u) << "nobody asks about it any more";
  }
  EXPECT_GE(old, 100 * 64 * 3 / 4);
}

}  // namespace
}  // namespace thermocline
