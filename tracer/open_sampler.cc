#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tracer/check_source.h"
#include "tracer/page_sampler.h"
#include "tracer/page_tracker.h"
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

Error unknown_source(const std::string& source) {
  return invalid("unknown source \"" + source +
                 "\"; give perf, perf:EVENT,..., stream, stream:PATH, pages, "
                 "pages:TRACKER or none");
}

// Not opened: that would take a writer's only reader away when we close it.
Status check_stream(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return not_found(path + ": " + std::strerror(errno) + "; check its name");
  }
  if (!S_ISDIR(found.st_mode)) return {};
  return invalid(path + ": a directory; give a file, FIFO or device");
}

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
  // An extra to the usual events, where the processor has those it takes.
  std::optional<SequenceEvents> sequences;
  if (source->sequences && source->events.empty()) {
    if (auto found = sequence_events(PerfPlace()); found) sequences = *found;
  }
  return open_perf(*events, target, source->share, std::move(sequences));
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
  return unknown_source(source);
}

Status check_source(const std::string& source) {
  const auto colon = source.find(':');
  const auto kind = source.substr(0, colon);
  const auto rest = colon == source.npos ? "" : source.substr(colon + 1);
  if (source == "none" || source == "stream") return {};
  if (kind == "stream" && !rest.empty()) return check_stream(rest);
  if (kind == "pages") return check_page_tracker(rest);
  if (kind != "perf") return unknown_source(source);
  const auto words = parse_perf_source(rest);
  if (!words) return words.error();
  const auto events = perf_events(words->events, PerfPlace());
  if (events || events.error().code == Error::Code::kUnsupported) return {};
  return events.error();
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
