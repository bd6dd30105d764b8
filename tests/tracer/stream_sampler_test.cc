#include "tracer/stream_sampler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tracer/observed_job.h"
#include "tests/tracer/perf_bytes.h"

namespace thermocline {
namespace {

using std::chrono::milliseconds;

PerfBytes opening() {
  return PerfBytes().pipe_header().attributes(
      access_attributes(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR), {});
}

PerfBytes access(Address address) {
  return PerfBytes().record(9, PerfBytes().u64(1).u64(address));
}

void write_all(int descriptor, const PerfBytes& bytes) {
  ASSERT_EQ(write(descriptor, bytes.bytes.data(), bytes.bytes.size()),
            static_cast<ssize_t>(bytes.bytes.size()));
}

class StreamSampler : public testing::Test {
 protected:
  StreamSampler() : path_(scratch_path("stream")) {}
  ~StreamSampler() override { unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(StreamSampler, AFileEndsWithItsLastByte) {
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT, 0600);
  write_all(file, opening().append(access(0x1000)).append(access(0x2000)));
  close(file);
  auto sampler = open_sampler("stream:" + path_, 0);
  ASSERT_TRUE(sampler) << sampler.error().message;
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->samples.size(), 2u);
  EXPECT_TRUE(batch->ended);
  EXPECT_EQ((*sampler)->clock(), "monotonic");
  EXPECT_TRUE((*sampler)->read(milliseconds(0))->ended);
}

TEST_F(StreamSampler, ACutFileIsCounted) {
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT, 0600);
  auto bytes = opening().append(access(0x1000));
  bytes.bytes.pop_back();
  write_all(file, bytes);
  close(file);
  auto sampler = open_stream(path_);
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->samples.size(), 0u);
  EXPECT_EQ(batch->malformed, 1u);
  EXPECT_TRUE(batch->ended);
}

TEST_F(StreamSampler, AFifoWaitsForItsWriterAndEndsWithIt) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  auto sampler = open_stream(path_);
  ASSERT_TRUE(sampler);
  EXPECT_FALSE((*sampler)->read(milliseconds(1))->ended) << "nobody came yet";
  const int writer = open(path_.c_str(), O_WRONLY | O_NONBLOCK);
  ASSERT_GE(writer, 0);
  const auto bytes = opening().append(access(0x1000));
  PerfBytes first, second;
  first.bytes.assign(bytes.bytes.begin(), bytes.bytes.end() - 5);
  second.bytes.assign(bytes.bytes.end() - 5, bytes.bytes.end());
  write_all(writer, first);
  EXPECT_EQ((*sampler)->read(milliseconds(0))->samples.size(), 0u);
  write_all(writer, second);
  EXPECT_EQ((*sampler)->read(milliseconds(0))->samples.size(), 1u);
  EXPECT_FALSE((*sampler)->read(milliseconds(1))->ended);
  close(writer);
  EXPECT_TRUE((*sampler)->read(milliseconds(1000))->ended);
}

TEST_F(StreamSampler, ADeviceWithNobodyBehindItJustHasNoData) {
  auto sampler = open_stream("/dev/null");
  ASSERT_TRUE(sampler);
  const auto batch = (*sampler)->read(milliseconds(1));
  ASSERT_TRUE(batch);
  EXPECT_FALSE(batch->ended);
  EXPECT_EQ(batch->malformed, 0u);
}

TEST_F(StreamSampler, ErrorsNameThePath) {
  EXPECT_EQ(open_stream("/no/such").error().code, Error::Code::kNotFound);
  EXPECT_EQ(open_stream("/tmp").error().code, Error::Code::kInvalid);
  std::ofstream(path_) << "this is no stream of perf's at all";
  auto sampler = open_stream(path_);
  const auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message.rfind(path_ + ": offset 0", 0), 0u);
}

// The same addresses as perf's own reading of the same stream. Needs perf
// (Debian: linux-perf), and a kernel that lets us count page faults.
TEST_F(StreamSampler, ReadsWhatPerfWrites) {
  const std::string record = "perf record -q -e page-faults -c 1 -d -o - -- " +
                             std::string("ls / 2>/dev/null >") + path_;
  if (std::system("perf --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "perf is not installed (Debian: linux-perf)";
  }
  ASSERT_EQ(std::system(record.c_str()), 0);
  const std::string script = "perf script -i " + path_ +
                             " -F tid,time,addr,ip --ns 2>/dev/null >" + path_ +
                             ".txt";
  ASSERT_EQ(std::system(script.c_str()), 0);
  std::vector<Sample> expected;
  std::ifstream lines(path_ + ".txt");
  for (std::string line; std::getline(lines, line);) {
    Sample sample;
    char dot = 0, colon = 0;
    std::int64_t seconds = 0, nanos = 0;
    std::istringstream in(line);
    in >> std::dec >> sample.thread >> seconds >> dot >> nanos >> colon;
    in >> std::hex >> sample.address >> sample.ip;
    sample.time = seconds * 1'000'000'000 + nanos;
    if (in) expected.push_back(sample);
  }
  unlink((path_ + ".txt").c_str());
  auto sampler = open_stream(path_);
  ASSERT_TRUE(sampler);
  auto batch = (*sampler)->read(milliseconds(0));
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_TRUE(batch->ended);
  EXPECT_EQ(batch->malformed, 0u);
  EXPECT_GT(expected.size(), 20u);
  ASSERT_EQ(batch->samples.size(), expected.size());
  // perf script orders by time what several CPUs wrote.
  std::stable_sort(
      batch->samples.begin(), batch->samples.end(),
      [](const Sample& a, const Sample& b) { return a.time < b.time; });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(batch->samples[i].address, expected[i].address) << i;
    EXPECT_EQ(batch->samples[i].ip, expected[i].ip) << i;
    EXPECT_EQ(batch->samples[i].time, expected[i].time) << i;
    EXPECT_EQ(batch->samples[i].thread, expected[i].thread) << i;
  }
}

}  // namespace
}  // namespace thermocline
