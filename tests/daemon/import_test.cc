// thermocline import, and record with a stream from perf, from the outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/daemon/thermoclined_process.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr const char* kGolden = "tests/golden/perf.data.weight_struct.gz";

struct Ran {
  int status = -1;
  std::string output;
};

class Import : public ::testing::Test {
 protected:
  Ran shell(const std::string& command) const {
    Child child({"/bin/sh", "-c", command});
    Ran ran;
    ran.status = child.wait();
    ran.output = child.output();
    return ran;
  }
  Ran import(const std::string& rest) const {
    return shell(std::string(THERMOCLINE) + " import " + rest);
  }
  bool holds(const Ran& ran, const std::string& text) const {
    return ran.output.find(text) != std::string::npos;
  }
  Scratch scratch;
};

TEST_F(Import, ARealRecordingIsShownAndExported) {
  const auto to = scratch / "x.trace";
  const auto ran = import(std::string(kGolden) + " -o " + to);
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(holds(ran, "14 samples")) << ran.output;
  EXPECT_TRUE(holds(ran, "note: ")) << ran.output;
  const auto info = shell(std::string(THERMOCLINE) + " info --json " + to);
  EXPECT_EQ(info.status, 0);
  EXPECT_TRUE(holds(info, "\"samples\": 14")) << info.output;
  const auto csv = shell(std::string(THERMOCLINE) + " export --csv " + to);
  EXPECT_TRUE(holds(csv,
                    "13166196585610,0x55ffba5cda08,0xffffffffa4470d46,"
                    "20144,28,225,10009,load,fill_buffer"))
      << csv.output;
  const auto again = import(std::string(kGolden) + " -o " + to);
  EXPECT_EQ(again.status, 1);
  EXPECT_TRUE(holds(again, "--force")) << again.output;
}

TEST_F(Import, ReadsStandardInputAndOneProcess) {
  const auto to = scratch / "x.trace";
  const auto ran = shell(std::string("gunzip -c ") + kGolden + " | " +
                         THERMOCLINE + " import - --pid 17575 --json -o " + to);
  EXPECT_EQ(ran.status, 0) << ran.output;
  const auto json = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.output;
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["format"], "perf-data");
  EXPECT_EQ(json["damage"], nullptr);
}

TEST_F(Import, RefusesInOneLineAndLeavesNothing) {
  std::ofstream(scratch / "cut") << "PERFILE2" << std::string(8, '\0');
  std::ofstream(scratch / "text") << "hello\n";
  const auto refused = [&](const std::string& rest, const std::string& naming,
                           int status = 1) {
    const auto before = scratch.files();
    const auto ran = import(rest + " -o " + (scratch / "x.trace"));
    EXPECT_EQ(ran.status, status) << ran.output;
    EXPECT_TRUE(holds(ran, naming)) << ran.output;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1)
        << ran.output;
    EXPECT_EQ(scratch.files(), before);
  };
  refused(scratch / "none", "none: no such file");
  refused("/tmp", "/tmp: a directory");
  refused(scratch / "cut", "offset 8");
  refused(scratch / "text", "execution-trace, lackey, perf-data");
  refused((scratch / "text") + " --format nonsense", "\"nonsense\"");
  refused((scratch / "text") + " --format lackey", "offset 6");
  refused(std::string(kGolden) + " --options '{'", "JSON");
  refused(std::string(kGolden) + " --options '{\"x\": 1}'", "\"x\"");
  refused(std::string(kGolden) + " --pid 1", "process 1");
  refused((scratch / "text") + " --format lackey --pid 1", "\"pid\"");
}

TEST_F(Import, KeepsPartOfACutRecording) {
  const auto to = scratch / "x.trace";
  const auto cut = scratch / "cut";
  shell(std::string("gunzip -c ") + kGolden + " | head -c 1230000 >" + cut);
  EXPECT_EQ(import(cut + " -o " + to).status, 1);
  EXPECT_FALSE(std::filesystem::exists(to));
  const auto ran = import(cut + " --partial -o " + to);
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(holds(ran, "offset 1230000")) << ran.output;
  const auto read = read_trace(to);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->trace.end.known);
  EXPECT_FALSE(read->trace.samples.empty());
}

TEST_F(Import, TheListShowsTheFormats) {
  const auto text = shell(std::string(THERMOCLINE) + " list").output;
  const auto json = nlohmann::json::parse(
      shell(std::string(THERMOCLINE) + " list --json").output, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["formats"].size(), 5u);
  for (const auto& format : json["formats"]) {
    EXPECT_NE(text.find(format["name"].get<std::string>()), std::string::npos);
  }
}

// What perf sees of the whole machine: of it, the job's own samples are kept.
TEST_F(Import, RecordTakesAStreamFromPerf) {
  // At once, for perf passes a buffer on when it is half full.
  const std::string perf =
      "perf record -a --no-buffering -e page-faults -d -c 1 -o - ";
  if (shell(perf + "-- true >/dev/null 2>&1").status != 0) {
    GTEST_SKIP() << "perf is not installed, or may not record";
  }
  const auto to = scratch / "x.trace";
  const auto ran =
      shell(perf + "2>/dev/null | " + THERMOCLINE +
            " record --source stream --no-tensors --json -o " + to +
            " -- /usr/bin/python3 -c "
            "'b = bytearray(30000000); import sys, time; sys.stdin.read(); "
            "time.sleep(1)'");
  const auto json = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.output;
  EXPECT_EQ(json["exit_status"], 0);
  ASSERT_GT(json["samples"], 100);
  const auto read = read_trace(to);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace.samples.size(), json["samples"]);
  std::vector<std::uint32_t> threads;
  for (const auto& sample : read->trace.samples) {
    threads.push_back(sample.thread);
  }
  std::sort(threads.begin(), threads.end());
  EXPECT_EQ(threads.front(), threads.back()) << "of one process";
}

}  // namespace
}  // namespace thermocline
