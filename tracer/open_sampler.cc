#include <poll.h>

#include <algorithm>

#include "tracer/page_sampler.h"
#include "tracer/perf_events.h"
#include "tracer/perf_ring.h"
#include "tracer/perf_source.h"
#include "tracer/sampler.h"
#include "tracer/stream_sampler.h"

namespace thermocline {
namespace {

class NoSampler final : public Sampler {
 public:
  Result<SampleBatch> read(std::chrono::milliseconds timeout) override {
    ::poll(nullptr, 0, static_cast<int>(timeout.count()));
    return SampleBatch();
  }
  int descriptor() const override { return -1; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return "none"; }
  bool unattributed() const override { return false; }
};

Result<std::unique_ptr<Sampler>> open_live(const std::string& words, int pid,
                                           bool children) {
  const auto source = parse_perf_source(words);
  if (!source) return source.error();
  const auto events = perf_events(source->events, PerfPlace());
  if (!events) return events.error();
  if (pid <= 0 && source->cgroup.empty()) {
    return invalid(
        "source perf needs a process or a cgroup to sample; give one, or a "
        "command");
  }
  SamplingTarget target;
  target.pid = std::max(pid, 0);
  target.children = children;
  target.cgroup = source->cgroup;
  return open_perf(*events, target, source->share);
}

}  // namespace

Result<std::unique_ptr<Sampler>> open_sampler(const std::string& source,
                                              int pid, bool children) {
  const auto colon = source.find(':');
  const auto kind = source.substr(0, colon);
  const auto rest = colon == source.npos ? "" : source.substr(colon + 1);
  if (source == "none") return std::unique_ptr<Sampler>(new NoSampler);
  if (source == "stream") return open_stream("/dev/stdin");
  if (kind == "stream" && !rest.empty()) return open_stream(rest);
  if (kind == "pages") return open_pages(rest, pid);
  if (kind == "perf") return open_live(rest, pid, children);
  return invalid("unknown source \"" + source +
                 "\"; give perf, perf:EVENT,..., stream, stream:PATH, pages, "
                 "pages:TRACKER or none");
}

Status await_sampling(Sampler& sampler, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + timeout;
  while (Clock::now() < until) {
    const auto batch = sampler.read(std::chrono::milliseconds(50));
    if (!batch) return batch.error();
    if (batch->begun || batch->newest >= 0 || batch->ended) break;
  }
  return {};
}

}  // namespace thermocline
