// Accesses in a row, taken for real: page faults, by the kernel's own events.
#include "tracer/sequence_source.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/tracer/page_faults.h"
#include "tracer/perf_ring.h"
#include "tracer/sequence_builder.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

PerfEvent page_faults() {
  PerfEvent event;
  event.name = "page-faults";
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_PAGE_FAULTS;
  return event;
}

SequenceEvents faults_in_a_row() { return {page_faults(), {page_faults()}}; }

// A thread that touches fresh pages, one after the other, beside us: where it
// does not run, no phase can be changed.
class Toucher {
 public:
  Toucher() : thread_([this] { run(); }) {
    while (id_ == 0) std::this_thread::yield();
  }
  Toucher(const Toucher&) = delete;
  Toucher& operator=(const Toucher&) = delete;
  ~Toucher() {
    stop_ = true;
    thread_.join();
  }
  std::uint32_t id() const { return id_; }

 private:
  void run() {
    id_ = static_cast<std::uint32_t>(gettid());
    while (!stop_) fault(4096);
  }
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> id_{0};
  std::thread thread_;
};

bool one_cpu_only() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  return CPU_COUNT(&allowed) < 2;
}

void wait_for(const SequenceSource& source) {
  pollfd one{source.descriptor(), POLLIN, 0};
  poll(&one, 1, 1000);
}

// Page after page, but where a new piece of memory begins.
void expect_none_missing(const AccessSequence& sequence) {
  std::size_t pieces = 0;
  for (std::size_t i = 1; i < sequence.accesses.size(); ++i) {
    const auto& before = sequence.accesses[i - 1];
    const auto& access = sequence.accesses[i];
    EXPECT_EQ(access.instructions, 1u) << "faults since the one before";
    pieces += access.address >> 12 != (before.address >> 12) + 1;
  }
  EXPECT_LE(pieces, 1u);
}

TEST(SequenceSource, PagesOfAThreadComeOneAfterTheOther) {
  if (one_cpu_only()) GTEST_SKIP() << "needs a CPU beside ours";
  Toucher toucher;
  SequenceSource::Options often;
  often.every = 1'000'000;
  SequenceSource source(faults_in_a_row(), getpid(), often);
  std::vector<SeenSequence> whole;
  std::size_t most = 0;
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (whole.size() < 10 && !source.ended() && Clock::now() < until) {
    wait_for(source);
    most = std::max(most, source.step(whole));
  }
  if (source.ended()) GTEST_SKIP() << "we may not sample our own page faults";
  EXPECT_LE(most, 2 * often.most);
  ASSERT_GE(whole.size(), 10u) << "dropped " << source.dropped();
  EXPECT_EQ(source.taken(), whole.size());
  for (const auto& [sequence, pid] : whole) {
    EXPECT_EQ(pid, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(sequence.thread, toucher.id());
    EXPECT_GE(sequence.accesses.size(), SequenceBuilder::kFewest);
    expect_none_missing(sequence);
  }
  RecordProperty("dropped", static_cast<int>(source.dropped()));
  RecordProperty("accesses",
                 static_cast<int>(whole.back().sequence.accesses.size()));
}

TEST(SequenceSource, ItsShareSpreadsThem) {
  const Toucher toucher;
  SequenceSource::Options options;
  options.every = 1'000'000;
  options.share = 1e-6;
  SequenceSource source(faults_in_a_row(), getpid(), options);
  std::vector<SeenSequence> whole;
  std::size_t times = 0;
  const auto until = Clock::now() + std::chrono::milliseconds(500);
  while (!source.ended() && Clock::now() < until) {
    usleep(1000);
    times += source.step(whole) > 0;
  }
  if (source.ended()) GTEST_SKIP() << "we may not sample our own page faults";
  EXPECT_EQ(times, 1u);
}

TEST(SequenceSource, WhatTheKernelRefusesEndsItQuietly) {
  PerfEvent nothing;
  nothing.type = 4000;  // of a PMU that is not there
  SequenceSource::Options at_once;
  at_once.every = 0;
  SequenceSource source({nothing, {nothing}}, getpid(), at_once);
  std::vector<SeenSequence> whole;
  EXPECT_EQ(source.step(whole), 0u);
  EXPECT_TRUE(source.ended());
  EXPECT_EQ(source.step(whole), 0u);
  EXPECT_TRUE(whole.empty());
}

TEST(SequenceSource, AProcessThatIsGoneHasNone) {
  SequenceSource::Options at_once;
  at_once.every = 0;
  SequenceSource source(faults_in_a_row(), 0x7ffffffe, at_once);
  std::vector<SeenSequence> whole;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source.step(whole), 0u);
  EXPECT_FALSE(source.ended());
}

TEST(SequenceSource, TheLiveSamplerHasThemBesideItsSamples) {
  if (one_cpu_only()) GTEST_SKIP() << "needs a CPU beside ours";
  // Not the same event: of software events of one kind, Linux 6.18 gives all
  // that a fault makes overflow the id of the first.
  auto event = page_faults();
  event.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
  SamplingTarget target;
  target.pid = getpid();
  auto sampler = open_perf({&event, 1}, target, 1, faults_in_a_row());
  if (!sampler) GTEST_SKIP() << sampler.error().message;
  const Toucher toucher;
  std::size_t samples = 0;
  std::size_t sequences = 0;
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (sequences == 0 && Clock::now() < until) {
    const auto batch = (*sampler)->read(std::chrono::milliseconds(100));
    ASSERT_TRUE(batch) << batch.error().message;
    samples += batch->samples.size();
    for (const auto& one : batch->sequences) expect_none_missing(one.sequence);
    sequences += batch->sequences.size();
  }
  EXPECT_GT(samples, 0u);
  EXPECT_GT(sequences, 0u);
}

}  // namespace
}  // namespace thermocline
