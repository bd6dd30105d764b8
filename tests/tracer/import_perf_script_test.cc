#include <gtest/gtest.h>

#include "tests/tracer/import_bytes.h"
#include "tracer/perf_script.h"

namespace thermocline {
namespace {

using Kind = ScriptLine::Kind;

TEST(ImportPerfScript, AMemorySampleWithAllItsFields) {
  const auto line = parse_script_line(
      "census_housekee 20132/20144 [028] 13166.196585610:      10009 "
      "MEM_TRANS_RETIRED.LOAD_LATENCY:ldlat=64:precise=2:     55ffba5cda08     "
      "11868100242 |OP LOAD|LVL LFB/MAB or LFB/MAB hit|SNP None|TLB L1 or L2 "
      "hit|LCK No|BLK  N/A             225               0 ffffffffa4470d46 "
      "[unknown] ([kernel.kallsyms])");
  ASSERT_EQ(line.kind, Kind::kSample);
  EXPECT_EQ(line.pid, 20132u);
  const Sample expected{13'166'196'585'610,
                        0x55ffba5cda08,
                        0xffffffffa4470d46,
                        20144,
                        28,
                        225,
                        10009,
                        Access::kLoad,
                        Source::kFillBuffer};
  EXPECT_EQ(line.sample, expected);
}

TEST(ImportPerfScript, FieldsThatAreMissing) {
  const auto address_and_ip =
      parse_script_line("24392.325600:     561e4cef1240 ffffffff817554ea");
  ASSERT_EQ(address_and_ip.kind, Kind::kSample);
  EXPECT_EQ(address_and_ip.sample.address, 0x561e4cef1240u);
  EXPECT_EQ(address_and_ip.sample.ip, 0xffffffff817554eau);
  EXPECT_EQ(address_and_ip.sample.thread, 0xffffffffu);
  const auto named = parse_script_line(
      "my job 2  9286/9287  24392.325600:          3 cpu/mem-stores/P:     "
      "561e4cef1240 ffffffff817554ea add+0x10 (/bin/x)");
  ASSERT_EQ(named.kind, Kind::kSample);
  EXPECT_EQ(named.sample.access, Access::kStore);
  EXPECT_EQ(named.sample.period, 3u);
  EXPECT_EQ(named.sample.thread, 9287u);
  EXPECT_EQ(named.pid, 9286u);
  const auto thread_only = parse_script_line(
      "sh  9286 24392.3256:  1 page-faults:  "
      "ffffffff817554ea elf_load+0x28a ([kernel])");
  EXPECT_EQ(thread_only.kind, Kind::kUnaddressed) << "one number: the ip";
}

TEST(ImportPerfScript, WhatIsNoSample) {
  EXPECT_EQ(parse_script_line("").kind, Kind::kOther);
  EXPECT_EQ(parse_script_line("# comment 1.000000: x").kind, Kind::kOther);
  EXPECT_EQ(parse_script_line("\tffffffff81 sym (x)").kind, Kind::kOther);
  EXPECT_EQ(parse_script_line("no time here").kind, Kind::kOther);
  EXPECT_EQ(parse_script_line("1.000000:").kind, Kind::kUnaddressed);
}

TEST(ImportPerfScript, ProcessesAndLosses) {
  const auto mapping = parse_script_line(
      "sh  9286/9286  24392.325585: PERF_RECORD_MMAP2 9286/9286: "
      "[0x561e4ced2000(0x22000) @ 0 fe:00 247230 0]: r--p /usr/bin/da sh");
  ASSERT_EQ(mapping.kind, Kind::kProcess);
  EXPECT_EQ(mapping.process.mapping,
            (Mapping{24'392'325'585'000, 0x561e4ced2000, 0x561e4cef4000, "r--p",
                     "/usr/bin/da sh"}));
  const auto exec = parse_script_line(
      "sh  9286/9286  24392.325549: PERF_RECORD_COMM exec: a b:9286/9287");
  ASSERT_EQ(exec.kind, Kind::kProcess);
  EXPECT_TRUE(exec.process.exec);
  EXPECT_EQ(exec.process.name, "a b");
  EXPECT_EQ(exec.process.tid, 9287u);
  const auto fork = parse_script_line(
      "sh  9286/9286  24392.325549: PERF_RECORD_FORK(9290:9290):(9286:9286)");
  ASSERT_EQ(fork.kind, Kind::kProcess);
  EXPECT_EQ(fork.process.pid, 9290u);
  EXPECT_EQ(fork.process.parent, 9286u);
  const auto lost =
      parse_script_line("sh  1/1  1.000001: PERF_RECORD_LOST lost 12");
  EXPECT_EQ(lost.kind, Kind::kLost);
  EXPECT_EQ(lost.lost, 12u);
  for (const char* broken :
       {"a 1 1.000001: PERF_RECORD_MMAP2",
        "a 1 1.000001: PERF_RECORD_MMAP2 1: [",
        "a 1 1.000001: PERF_RECORD_MMAP2 1/1: [0x1(0x)]: r",
        "a 1 1.000001: PERF_RECORD_FORK(", "a 1 1.000001: PERF_RECORD_COMM",
        "a 1 1.000001: PERF_RECORD_FORK(1:1):("}) {
    EXPECT_EQ(parse_script_line(broken).kind, Kind::kOther) << broken;
  }
}

TEST(ImportPerfScript, IsRecognisedAndRefused) {
  const std::string sample =
      "a 5/5 1.000001: 1 page-faults:      7f0000001000      7f0000000010\n";
  const auto imported = import_text("# header\n" + sample + sample);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "perf-script");
  EXPECT_EQ(imported->trace.samples.size(), 2u);
  expect_error(
      import_text(
          "sh  9286 24392.325600:  1 page-faults:  ffffffff817554ea x\n"),
      {"none with an address", "perf script"});
  expect_error(import_text("hello\n", as_format("perf-script")),
               {"without one sample"});
  expect_error(import_text("hello\n"), {"not of a known format", "lackey"});
}

}  // namespace
}  // namespace thermocline
