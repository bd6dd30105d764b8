#include <poll.h>

#include "tracer/page_sampler.h"
#include "tracer/perf_events.h"
#include "tracer/perf_ring.h"
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

}  // namespace

Result<std::unique_ptr<Sampler>> open_sampler(const std::string& source,
                                              int pid) {
  const auto colon = source.find(':');
  const auto kind = source.substr(0, colon);
  const auto rest = colon == source.npos ? "" : source.substr(colon + 1);
  if (source == "none") return std::unique_ptr<Sampler>(new NoSampler);
  if (source == "stream") return open_stream("/dev/stdin");
  if (kind == "stream" && !rest.empty()) return open_stream(rest);
  if (kind == "pages") return open_pages(rest, pid);
  if (kind == "perf") {
    auto events = perf_events(rest, PerfPlace());
    if (!events) return events.error();
    if (pid <= 0) return invalid("source perf needs a process to sample");
    return open_perf(*events, pid);
  }
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
