#include "tracer/line_counters.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "tracer/perf_open.h"
#include "tracer/sampling_rights.h"
#include "traces/whole_machine.h"

namespace thermocline {
namespace {

constexpr Nanos kApart = 20'000'000;

bool has(const std::vector<int>& nodes, int node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The tier that an event's lines belong to; none: to no tier of the machine.
Result<std::optional<std::size_t>> tier_of(const Machine& machine,
                                           const ControllerEvent& event) {
  std::optional<std::size_t> found;
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    const Tier& tier = machine.tiers[t];
    if (tier.durable != event.durable) continue;
    const bool here =
        std::any_of(tier.nodes.begin(), tier.nodes.end(),
                    [&](int node) { return has(event.nodes, node); });
    if (!here) continue;
    if (found) {
      return unsupported(event.pmu + " counts the lines of tiers " +
                         machine.tiers[*found].name + " and " + tier.name +
                         " together");
    }
    found = t;
  }
  return found;
}

class WithLines final : public Sampler {
 public:
  WithLines(std::unique_ptr<Sampler> sampler, LineCounters counters,
            std::function<Nanos()> clock)
      : sampler_(std::move(sampler)),
        counters_(std::move(counters)),
        clock_(std::move(clock)) {}

  Result<SampleBatch> read(std::chrono::milliseconds timeout) override {
    auto batch = sampler_->read(timeout);
    const Nanos now = clock_();
    if (!batch || failed_ || (now < next_ && !batch->ended)) return batch;
    next_ = now + kApart;
    auto counted = counters_.read(now);
    failed_ = !counted;
    if (counted) batch->counters.push_back(*std::move(counted));
    return batch;
  }
  int descriptor() const override { return sampler_->descriptor(); }
  std::string clock() const override { return sampler_->clock(); }
  std::string kind() const override { return sampler_->kind(); }
  bool unattributed() const override { return sampler_->unattributed(); }

 private:
  std::unique_ptr<Sampler> sampler_;
  LineCounters counters_;
  std::function<Nanos()> clock_;
  Nanos next_ = 0;
  bool failed_ = false;
};

}  // namespace

Result<LineCounters> LineCounters::open(const Machine& machine,
                                        std::span<const ControllerEvent> events,
                                        const Open& open) {
  // What is counted of each tier, before anything is opened.
  std::vector<std::set<int>> read(machine.tiers.size()), written = read;
  std::vector<std::pair<const ControllerEvent*, std::size_t>> wanted;
  for (const auto& event : events) {
    const auto tier = tier_of(machine, event);
    if (!tier) return tier.error();
    if (!*tier) continue;
    wanted.emplace_back(&event, **tier);
    auto& nodes = (event.write ? written : read)[**tier];
    nodes.insert(event.nodes.begin(), event.nodes.end());
  }
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    for (const int node : machine.tiers[t].nodes) {
      if (read[t].contains(node) && written[t].contains(node)) continue;
      return unsupported("no memory controller tells the lines of tier " +
                         machine.tiers[t].name + " (node " +
                         std::to_string(node) + ")");
    }
  }
  LineCounters out(machine.tiers.size());
  for (const auto& [event, tier] : wanted) {
    auto opened = open(*event);
    if (!opened) return opened.error().within(event->pmu);
    out.all_.push_back({*opened, tier, event->write, event->lines});
  }
  return out;
}

LineCounters::~LineCounters() {
  for (const One& one : all_) close(one.descriptor);
}

Result<Counters> LineCounters::read(Nanos now) const {
  std::vector<double> lines_read(tiers_, 0), lines_written = lines_read;
  for (const One& one : all_) {
    std::array<std::uint64_t, 3> words{};
    if (::read(one.descriptor, words.data(), sizeof words) != sizeof words) {
      return io("a memory controller's counter cannot be read");
    }
    if (words[2] == 0) continue;  // not yet on the controller
    const double share =
        static_cast<double>(words[1]) / static_cast<double>(words[2]);
    (one.write ? lines_written : lines_read)[one.tier] +=
        static_cast<double>(words[0]) * share * one.lines;
  }
  Counters out;
  out.time = now;
  out.cpu = kWholeMachine;
  for (std::size_t t = 0; t < tiers_; ++t) {
    out.lines_read.push_back(
        static_cast<std::uint64_t>(std::llround(lines_read[t])));
    out.lines_written.push_back(
        static_cast<std::uint64_t>(std::llround(lines_written[t])));
  }
  return out;
}

Result<int> open_controller(const ControllerEvent& event) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.read_format =
      PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int opened = perf_event_open(attr, -1, event.cpu, -1, 0);
  if (opened >= 0) return opened;
  const int error = errno;
  if (error == EACCES || error == EPERM) {
    return permission(
        "memory controllers are counted for the whole machine, which needs "
        "CAP_PERFMON, or kernel.perf_event_paranoid <= 0 (it is " +
        std::to_string(sampling_rights("", 0).paranoid) + ")");
  }
  return unsupported(std::strerror(error));
}

std::unique_ptr<Sampler> with_lines(std::unique_ptr<Sampler> sampler,
                                    LineCounters counters,
                                    std::function<Nanos()> clock) {
  return std::make_unique<WithLines>(std::move(sampler), std::move(counters),
                                     std::move(clock));
}

}  // namespace thermocline
