#include <gtest/gtest.h>

#include "tests/tracer/import_bytes.h"

namespace thermocline {
namespace {

constexpr const char* kTrace =
    "==7== Lackey, an example Valgrind tool\n"
    "==7== Command: ./job --size 3\n"
    "==7== \n"
    "I  0401ab70,3\n"
    "I  0401ab73,5\n"
    " S 1fff000718,8\n"
    "what the job prints\n"
    "I  0401b770,4\n"
    " L 1fff000710,8\n"
    " M 0404e018,4\n"
    "==7== Exit code:       0\n";

TEST(ImportLackey, EveryAccessAtItsInstruction) {
  const auto imported = import_text(kTrace);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "lackey");
  const Trace& trace = imported->trace;
  EXPECT_EQ(trace.info.clock, "instructions");
  EXPECT_EQ(trace.info.command,
            (std::vector<std::string>{"./job", "--size", "3"}));
  ASSERT_EQ(trace.samples.size(), 4u);
  EXPECT_EQ(trace.samples[0].address, 0x1fff000718u);
  EXPECT_EQ(trace.samples[0].ip, 0x0401ab73u);
  EXPECT_EQ(trace.samples[0].time, 2);
  EXPECT_EQ(trace.samples[0].access, Access::kStore);
  EXPECT_EQ(trace.samples[1].access, Access::kLoad);
  EXPECT_EQ(trace.samples[2].access, Access::kLoad) << "a modify loads";
  EXPECT_EQ(trace.samples[3].access, Access::kStore) << "and stores";
  EXPECT_EQ(trace.samples[3].address, 0x0404e018u);
  EXPECT_EQ(trace.run_ns(), 3);
  EXPECT_TRUE(trace.end.known);
  ASSERT_EQ(imported->notes.size(), 2u);
  EXPECT_EQ(imported->notes[1], "1 lines are not lackey's");
}

TEST(ImportLackey, KeepsOneOfMany) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "I  00400000,3\n L 00001000,8\n";
  const auto imported =
      import_text(text, as_format("lackey", R"({"period": 7})"));
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->trace.samples.size(), 143u);
  EXPECT_EQ(imported->trace.samples[0].period, 7u);
  expect_error(import_text(text, as_format("lackey", R"({"period": 0})")),
               {"period", "outside"});
}

TEST(ImportLackey, RefusesWhatHoldsNoAccess) {
  expect_error(import_text("==7== Lackey, an example Valgrind tool\n"),
               {"offset", "--trace-mem=yes"});
  expect_error(import_text("", as_format("lackey")), {"offset 0"});
  expect_error(import_text(std::string(100'000, 'x'), as_format("lackey")),
               {"line 1", "more than 65536 bytes"});
}

}  // namespace
}  // namespace thermocline
