// What a recording keeps, what it leaves out, and that it says so.
#include "daemon/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <map>

#include "daemon/scratch.h"
#include "tracer/observer_link.h"

namespace thermocline {
namespace {

// Delivers what it was given, a batch a read.
class Scripted final : public Sampler {
 public:
  Scripted(std::string kind, std::deque<SampleBatch> batches, bool names_nobody)
      : kind_(std::move(kind)),
        batches_(std::move(batches)),
        names_nobody_(names_nobody) {}
  Result<SampleBatch> read(std::chrono::milliseconds) override {
    if (!started_ || batches_.empty()) {
      started_ = true;  // nothing before the job begins
      return SampleBatch();
    }
    auto next = std::move(batches_.front());
    batches_.pop_front();
    return next;
  }
  int descriptor() const override { return -1; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return kind_; }
  bool unattributed() const override { return names_nobody_; }

 private:
  std::string kind_;
  std::deque<SampleBatch> batches_;
  bool names_nobody_;
  bool started_ = false;
};

SampleBatch samples_of(int pid, int count) {
  SampleBatch batch;
  for (int i = 0; i < count; ++i) {
    Sample sample;
    sample.time = i;
    sample.thread = static_cast<std::uint32_t>(pid);
    batch.samples.push_back(sample);
    batch.pids.push_back(static_cast<std::uint32_t>(pid));
  }
  return batch;
}

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() { options.source = "perf"; }

  Recording start(std::deque<SampleBatch> batches,
                  std::optional<ObserverServer> observer = {}) {
    auto writer = TraceWriter::create(path(), {}, true);
    EXPECT_TRUE(writer);
    const auto kind = options.source.substr(0, options.source.find(':'));
    Recording recording(
        *std::move(writer),
        std::make_unique<Scripted>(kind, std::move(batches), names_nobody),
        getpid(), options, std::move(observer));
    EXPECT_TRUE(recording.begin());
    return recording;
  }
  bool names_nobody = false;  // as a stream of a whole machine
  Trace finish(Recording& recording) const {
    const auto report = recording.finish(0);
    EXPECT_TRUE(report);
    const auto read = read_trace(path());
    EXPECT_TRUE(read);
    EXPECT_EQ(read->damage, "");
    return read->trace;
  }
  static std::map<std::string, std::uint64_t> losses(const Trace& trace) {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& loss : trace.losses) counts[loss.source] += loss.count;
    return counts;
  }
  std::string path() const { return scratch_.path() + "/t.trace"; }

  RecordOptions options;
  ScratchDirectory scratch_;
};

using Losses = std::map<std::string, std::uint64_t>;

TEST_F(RecordingTest, ManySamplesAreAttributedBeforeTheirTime) {
  options.limits.samples = 100;
  std::deque<SampleBatch> batches;
  for (int i = 0; i < 50; ++i) batches.push_back(samples_of(getpid(), 20));
  auto recording = start(std::move(batches));
  ASSERT_TRUE(recording.take());
  EXPECT_EQ(recording.report.samples, 1000u) << "a tenth at a time";
  const auto trace = finish(recording);
  EXPECT_EQ(trace.samples.size(), 1000u);
  EXPECT_EQ(losses(trace), Losses());
}

TEST_F(RecordingTest, ALaunchersSamplesAreNotTheJobs) {
  const int job = getpid() + 1;
  auto recording = start({samples_of(getpid(), 300), samples_of(job, 500)});
  const auto trace = finish(recording);
  ASSERT_EQ(trace.samples.size(), 500u);
  for (const auto& sample : trace.samples) {
    EXPECT_EQ(sample.thread, static_cast<std::uint32_t>(job));
  }
  EXPECT_EQ(losses(trace), (Losses{{"other_processes", 300}}));
  EXPECT_EQ(recording.report.foreign, 300u);
}

TEST_F(RecordingTest, AreasBeyondTheLimitAreCounted) {
  options.limits.areas = 3;
  auto recording = start({});
  for (int i = 0; i < 5; ++i) recording.attribute();  // counted once
  const auto trace = finish(recording);
  EXPECT_EQ(trace.mappings.size(), 3u);
  const auto lost = losses(trace);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_GT(lost.at("recorder.mappings"), 5u);
  EXPECT_LT(lost.at("recorder.mappings"), 5000u);
}

TEST_F(RecordingTest, AreasThatAStreamIsToldApartByHaveALimitToo) {
  options.source = "stream:none";
  options.limits.areas_ever = 3;
  auto recording = start({});
  recording.attribute();
  const auto trace = finish(recording);
  EXPECT_GT(trace.mappings.size(), 3u);
  EXPECT_EQ(losses(trace).at("recorder.mappings"), trace.mappings.size() - 3);
}

TEST_F(RecordingTest, TensorsBeyondTheLimitAreCounted) {
  options.limits.tensors = 2;
  auto observer = ObserverServer::listen(scratch_.path() + "/o.sock");
  ASSERT_TRUE(observer);
  auto recording = start({}, std::move(*observer));
  auto link = ObserverLink::open(scratch_.path() + "/o.sock", "torch");
  ASSERT_TRUE(link);
  std::vector<char> memory(5 * 64);
  for (std::size_t i = 0; i < 5; ++i) (*link)->born(&memory[i * 64], 64);
  (*link)->died(&memory[0]);
  (*link)->born(&memory[0], 64);  // there is room again
  (*link)->finish();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (recording.report.tensors < 3 &&
         std::chrono::steady_clock::now() < until) {
    ASSERT_TRUE(recording.take());
  }
  const auto trace = finish(recording);
  ASSERT_EQ(trace.tensors.size(), 3u);
  EXPECT_EQ(trace.tensors[0].serial, 1u);
  EXPECT_GE(trace.tensors[0].died, trace.tensors[0].born);
  EXPECT_EQ(losses(trace), (Losses{{"recorder.tensors", 3}}));
  EXPECT_EQ(recording.report.lost, 3u);
}

TEST_F(RecordingTest, AKilledRecordersLossesAreOnDisk) {
  options.limits.areas = 3;
  auto recording = start({});
  recording.attribute();
  ASSERT_TRUE(recording.flush());
  const auto read = read_trace(path());
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->trace.end.known);
  EXPECT_TRUE(losses(read->trace).contains("recorder.mappings"));
}

TEST_F(RecordingTest, AStreamThatOutlivesItsJobIsSaidTo) {
  options.source = "stream:none";
  auto open = start({samples_of(getpid(), 3)});
  EXPECT_EQ(losses(finish(open)), (Losses{{"stream.open", 1}}));
  auto last = samples_of(getpid(), 3);
  last.ended = true;
  auto ended = start({last});
  EXPECT_EQ(losses(finish(ended)), Losses());
}

// A stream that names no process: what lies elsewhere is another's.
TEST_F(RecordingTest, SequencesAreTheJobsOwn) {
  auto batch = samples_of(getpid(), 1);
  static char mine[4096 * 32];
  SeenSequence seen;
  for (std::uint32_t i = 0; i < 32; ++i) {
    seen.sequence.accesses.push_back(
        {reinterpret_cast<Address>(mine) + i * 4096, 0x40, 10});
    if (i % 2 == 0) seen.sequence.accesses.push_back({0x10, 0x40, 5});
  }
  SeenSequence other;
  other.sequence.accesses.assign(64, {0x10, 0x40, 5});
  batch.sequences = {seen, other};
  options.source = "stream:none";
  names_nobody = true;
  auto recording = start({batch});
  const auto trace = finish(recording);
  ASSERT_EQ(trace.sequences.size(), 1u);
  ASSERT_EQ(trace.sequences[0].accesses.size(), 32u);
  EXPECT_EQ(trace.sequences[0].accesses[1].instructions, 15u);
  EXPECT_EQ(trace.sequences[0].accesses[2].instructions, 10u);
}

TEST_F(RecordingTest, PeriodsAreKept) {
  auto batch = samples_of(getpid(), 1);
  batch.periods = {{1, "loads", 101}, {2, "loads", 211}};
  auto recording = start({batch});
  EXPECT_EQ(finish(recording).periods, batch.periods);
}

}  // namespace
}  // namespace thermocline
