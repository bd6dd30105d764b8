#include "tracer/perf_ring.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tracer/interrupt_cost.h"
#include "tracer/sampling_budget.h"
#include "tracer/sampling_period.h"

namespace thermocline {
namespace {

constexpr Address kKernelHalf = Address{1} << 63;
constexpr double kSequencesShare = 0.5;  // of the budget

Nanos clock_now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Nanos{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

SamplingBudget::Options budget_of(std::span<const PerfEvent> events,
                                  double share) {
  SamplingBudget::Options options;
  options.share = share;
  options.sample_ns = interrupt_ns("");
  for (const auto& event : events) {
    options.least_scale =
        std::min(options.least_scale, static_cast<double>(event.least_period) /
                                          static_cast<double>(event.period));
  }
  return options;
}

class PerfRing final : public Sampler {
 public:
  PerfRing(std::span<const PerfEvent> events, const SamplingTarget& target,
           double share)
      : target_(target),
        events_(events.begin(), events.end()),
        waiter_(epoll_create1(EPOLL_CLOEXEC)),
        budget_(budget_of(events, share), clock_now(CLOCK_MONOTONIC)) {}
  ~PerfRing() override {
    rings_.reset();
    if (process_ >= 0) close(process_);
    if (waiter_ >= 0) close(waiter_);
  }

  Status start() {
    if (waiter_ < 0) return io(std::string("epoll: ") + std::strerror(errno));
    if (target_.pid > 0) {
      process_ = static_cast<int>(syscall(SYS_pidfd_open, target_.pid, 0));
      if (process_ < 0 && errno == EMFILE) {
        return io("too many open files; raise the limit (ulimit -n)");
      }
      if (process_ < 0) {
        return not_found("no process " + std::to_string(target_.pid) +
                         "; find its number with ps or pgrep");
      }
      watch(process_);
    }
    auto status = open_rings();
    if (!status && !target_.whole_cpus() && only_on_whole_cpus(status)) {
      // Linux before 6.2 samples IBS on whole CPUs only.
      target_.everything = true;
      status = open_rings();
    }
    return status;
  }

  void take_sequences(SequenceEvents events, double share) {
    if (target_.pid <= 0 || target_.whole_cpus()) return;
    SequenceSource::Options options;
    options.record_ns = interrupt_ns("");
    options.share = share * kSequencesShare;
    sequences_ = std::make_unique<SequenceSource>(std::move(events),
                                                  target_.pid, options);
    if (!sequences_->ended()) watch(sequences_->descriptor());
  }

  Result<SampleBatch> read(std::chrono::milliseconds timeout) override {
    std::array<epoll_event, 16> ready;
    const int count = epoll_wait(waiter_, ready.data(), ready.size(),
                                 static_cast<int>(timeout.count()));
    const Nanos began = clock_now(CLOCK_THREAD_CPUTIME_ID);
    SampleBatch batch = std::move(changes_);
    changes_ = SampleBatch();
    for (int i = 0; i < count; ++i) {
      const auto& event = ready[static_cast<std::size_t>(i)];
      batch.ended = batch.ended || event.data.fd == process_;
    }
    const auto in_a_row =
        sequences_ == nullptr ? 0 : sequences_->step(batch.sequences);
    rings_->drain(batch);
    if (batch.ended || rings_->knows_of_loss()) rings_->ask_losses(batch);
    budget_.spend(batch.samples.size() + batch.foreign + in_a_row,
                  clock_now(CLOCK_THREAD_CPUTIME_ID) - began);
    if (batch.lost > 0 || batch.throttled > 0) budget_.fell_short();
    if (!batch.ended) {
      if (auto status = settle(batch); !status) return status.error();
    }
    batch.leave_out(
        [](const Sample& sample) { return sample.address >= kKernelHalf; });
    return batch;
  }
  int descriptor() const override { return waiter_; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return "perf"; }
  bool unattributed() const override { return false; }

 private:
  void watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(waiter_, EPOLL_CTL_ADD, descriptor, &event);
  }

  bool only_on_whole_cpus(const Status& status) const {
    return status.error().code == Error::Code::kUnsupported &&
           std::all_of(events_.begin(), events_.end(),
                       [](const PerfEvent& event) { return event.any_mode; });
  }

  // Opens all events with the periods of the present scale, and tells of them.
  Status open_rings() {
    auto fresh = std::make_unique<RingSet>();
    std::vector<std::uint64_t> periods;
    for (const auto& event : events_) {
      periods.push_back(scaled_period(event, budget_.scale()));
    }
    auto status = fresh->open(target_, events_, periods,
                              [this](int descriptor) { watch(descriptor); });
    if (!status) return status;
    rings_ = std::move(fresh);
    const Nanos now = clock_now(CLOCK_MONOTONIC);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      changes_.periods.push_back({now, events_[i].name, periods[i]});
    }
    return {};
  }

  // At the end of an interval: asks for losses, and opens anew with other
  // periods when the budget wants them.
  Status settle(SampleBatch& batch) {
    const Nanos now = clock_now(CLOCK_MONOTONIC);
    if (now >= next_losses_) {
      rings_->ask_losses(batch);
      next_losses_ = now + 1'000'000'000;
      budget_.sample_costs(interrupt_ns(""));
      if (batch.lost > 0) budget_.fell_short();
    }
    if (!budget_.settle(now)) return {};
    const Nanos began = clock_now(CLOCK_THREAD_CPUTIME_ID);
    rings_->stop();
    rings_->drain(batch);
    rings_->ask_losses(batch);
    rings_ = std::make_unique<RingSet>();  // its files and memory go first
    auto status = open_rings();
    budget_.paid_for_change(clock_now(CLOCK_THREAD_CPUTIME_ID) - began, now);
    if (!status && status.error().code == Error::Code::kNotFound) {
      return {};  // the target has just ended, as its pidfd will say
    }
    std::move(changes_.periods.begin(), changes_.periods.end(),
              std::back_inserter(batch.periods));
    changes_ = SampleBatch();
    return status;
  }

  SamplingTarget target_;
  const std::vector<PerfEvent> events_;
  const int waiter_;
  int process_ = -1;
  SamplingBudget budget_;
  Nanos next_losses_ = 0;
  std::unique_ptr<RingSet> rings_;
  std::unique_ptr<SequenceSource> sequences_;  // or none
  SampleBatch changes_;                        // of periods, not told yet
};

}  // namespace

Result<std::unique_ptr<Sampler>> open_perf(
    std::span<const PerfEvent> events, const SamplingTarget& target,
    double share, std::optional<SequenceEvents> sequences) {
  if (events.empty())
    return invalid("no event to sample; name one (perf:EVENT)");
  auto sampler = std::make_unique<PerfRing>(events, target, share);
  if (auto status = sampler->start(); !status) return status.error();
  if (sequences) sampler->take_sequences(*std::move(sequences), share);
  return std::unique_ptr<Sampler>(std::move(sampler));
}

}  // namespace thermocline
