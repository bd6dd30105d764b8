// What is imported from perf's recordings, beside what perf itself prints.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/tracer/import_bytes.h"
#include "tests/tracer/observed_job.h"

namespace thermocline {
namespace {

constexpr const char* kGolden = "tests/golden/perf.data.weight_struct.gz";

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// What perf script prints of the file, imported.
Result<Imported> printed(const std::string& file) {
  const auto text = scratch_path("script.txt");
  const auto ran = std::system(("perf script --ns -i " + file +
                                " -F comm,pid,tid,cpu,time,period,event,addr,"
                                "ip,weight,data_src >" +
                                text + " 2>/dev/null")
                                   .c_str());
  if (ran != 0) {  // no weights in it
    std::system(("perf script --ns -i " + file +
                 " -F comm,pid,tid,time,period,event,addr,ip >" + text +
                 " 2>/dev/null")
                    .c_str());
  }
  auto imported = import_file(text);
  std::remove(text.c_str());
  return imported;
}

#define NEEDS_PERF() \
  if (!run("perf --version")) GTEST_SKIP() << "perf is not installed"

TEST(ImportBesidePerf, AgreesWithPerfScriptFieldByField) {
  NEEDS_PERF();
  const auto file = scratch_path("golden.perf.data");
  const auto bytes = unpacked_file(kGolden);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  ::chmod(file.c_str(), 0600);
  const auto ours = import_file(file);
  const auto theirs = printed(file);
  std::remove(file.c_str());
  ASSERT_TRUE(ours) << ours.error().message;
  ASSERT_TRUE(theirs) << theirs.error().message;
  EXPECT_EQ(theirs->format, "perf-script");
  EXPECT_EQ(ours->trace.samples, theirs->trace.samples);
}

TEST(ImportBesidePerf, AgreesWithPerfOnWhatIsRecordedHere) {
  NEEDS_PERF();
  const auto file = scratch_path("live.perf.data");
  const std::string record = "perf record -e page-faults -d -c 1 ";
  const std::string job = " -- sh -c 'ls / >/dev/null; true'";
  if (!run(record + "-o " + file + job)) {
    GTEST_SKIP() << "perf may not record here (perf_event_paranoid)";
  }
  for (const std::string& how : std::vector<std::string>{
           record + "-o " + file + job, record + "-z -o " + file + job,
           "sh -c \"" + record + "-o -" + job + " >" + file + "\"",
           "sh -c \"" + record + "-z -o -" + job + " >" + file + "\""}) {
    SCOPED_TRACE(how);
    std::remove(file.c_str());
    ASSERT_TRUE(run(how));
    const auto ours = import_file(file);
    const auto theirs = printed(file);
    ASSERT_TRUE(ours) << ours.error().message;
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_GT(ours->trace.samples.size(), 50u);
    EXPECT_FALSE(ours->trace.mappings.empty());
    auto samples = ours->trace.samples;
    for (auto& sample : samples) sample.cpu = 0;  // perf.data has none here
    auto others = theirs->trace.samples;
    for (auto& sample : others) sample.cpu = 0;
    EXPECT_EQ(samples, others);
  }
  std::remove(file.c_str());
}

}  // namespace
}  // namespace thermocline
