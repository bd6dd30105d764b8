#include "tracer/sequence_source.h"

#include <linux/perf_event.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "tracer/sequence_group.h"

namespace thermocline {
namespace {

constexpr int kMostRestarts = 4;
const char* const kAccesses =
    "MEM_LOAD_RETIRED:L1_MISS,MEM_INST_RETIRED:ALL_STORES";

Nanos monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Nanos{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The thread of `pid` with the next higher number, or the lowest; 0: none.
int thread_after(int pid, int last) {
  int lowest = 0;
  int next = 0;
  std::error_code failed;
  std::filesystem::directory_iterator at(
      "/proc/" + std::to_string(pid) + "/task", failed);
  for (; !failed && at != std::filesystem::directory_iterator();
       at.increment(failed)) {
    const auto name = at->path().filename().string();
    int number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number <= 0) continue;
    if (lowest == 0 || number < lowest) lowest = number;
    if (number > last && (next == 0 || number < next)) next = number;
  }
  return next != 0 ? next : lowest;
}

}  // namespace

Result<SequenceEvents> sequence_events(const PerfPlace& place) {
  auto accesses = perf_events(kAccesses, place);
  if (!accesses) return accesses.error();
  SequenceEvents events;
  events.instructions.name = "instructions";
  events.instructions.type = PERF_TYPE_HARDWARE;
  events.instructions.config = PERF_COUNT_HW_INSTRUCTIONS;
  events.accesses = *std::move(accesses);
  return events;
}

SequenceSource::SequenceSource(SequenceEvents events, int pid, Options options)
    : events_(std::move(events)),
      pid_(pid),
      options_(options),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  due_ = monotonic() + options_.every;
  wake_at(due_);
}

SequenceSource::~SequenceSource() { give_up(); }

void SequenceSource::give_up() {
  open_.reset();
  if (timer_ >= 0) close(timer_);
  timer_ = -1;
}

void SequenceSource::wake_at(Nanos time) const {
  if (timer_ < 0) return;
  itimerspec when{};
  when.it_value.tv_sec = time / 1'000'000'000;
  when.it_value.tv_nsec = time % 1'000'000'000;
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

std::size_t SequenceSource::step(std::vector<SeenSequence>& whole) {
  if (ended()) return 0;
  std::size_t interrupts = 0;
  const Nanos now = monotonic();
  if (open_ != nullptr) {
    if (now < over_) return 0;
    interrupts = end(whole);
    // What it took is spread over enough time to fit the share.
    const auto spread =
        static_cast<Nanos>(static_cast<double>(options_.record_ns) *
                           static_cast<double>(interrupts) / options_.share);
    due_ = std::max(due_, now - options_.lasts + spread);
  }
  if (now >= due_) begin(now);
  wake_at(open_ != nullptr ? over_ : due_);
  return interrupts;
}

void SequenceSource::begin(Nanos now) {
  due_ = now + options_.every;
  thread_ = thread_after(pid_, thread_);
  if (thread_ == 0) return;
  auto group = std::make_unique<SequenceGroup>();
  restarts_ = restarts_ % kMostRestarts + 1;
  const auto status = group->start(events_, thread_, options_.most, restarts_);
  if (status) {
    open_ = std::move(group);
    over_ = monotonic() + options_.lasts;
  } else if (status.error().code != Error::Code::kNotFound) {
    give_up();
  }
}

std::size_t SequenceSource::end(std::vector<SeenSequence>& whole) {
  auto records = open_->stop();
  const auto interrupts = records.size();
  auto seen = merge_twins(std::move(records), open_->rules());
  open_.reset();
  if (seen) {
    whole.push_back(*std::move(seen));
    ++taken_;
  } else {
    ++(interrupts == 0 ? silent_ : dropped_);
  }
  return interrupts;
}

}  // namespace thermocline
