#include "tracer/page_sampler.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

#include "tracer/pagemap.h"

namespace thermocline {
namespace {

Nanos read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

class PageSampler final : public Sampler {
 public:
  PageSampler(int pid, std::unique_ptr<PageTracker> tracker,
              PageSampling options, int timer)
      : pid_(pid),
        tracker_(std::move(tracker)),
        options_(std::move(options)),
        timer_(timer) {}
  ~PageSampler() override { close(timer_); }

  Result<SampleBatch> read(std::chrono::milliseconds timeout) override {
    pollfd wanted{timer_, POLLIN, 0};
    SampleBatch batch;
    if (::poll(&wanted, 1, static_cast<int>(timeout.count())) <= 0) {
      return batch;
    }
    std::uint64_t expirations = 0;
    if (::read(timer_, &expirations, sizeof expirations) < 0) return batch;
    return look();
  }

  int descriptor() const override { return timer_; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return "pages:" + tracker_->name(); }
  bool unattributed() const override { return false; }

  // The next look is due in `nanos`.
  bool due_in(Nanos nanos) const {
    itimerspec when{};
    when.it_value = {nanos / 1'000'000'000, nanos % 1'000'000'000};
    return timerfd_settime(timer_, 0, &when, nullptr) == 0;
  }

 private:
  Result<SampleBatch> look() {
    SampleBatch batch;
    const Nanos began = options_.cpu_time();
    std::ifstream file(options_.files.proc + "/" + std::to_string(pid_) +
                       "/maps");
    std::stringstream text;
    text << file.rdbuf();
    std::vector<Area> areas = parse_maps(text.str()).areas;
    std::erase_if(areas, [](const Area& area) {
      return area.permissions.starts_with("---") ||
             area.name.starts_with("[v");  // the kernel's own
    });
    if (areas.empty()) {  // the process has ended
      batch.ended = true;
      return batch;
    }
    touched_.clear();
    if (auto status = tracker_->scan(areas, touched_); !status) {
      if (status.error().code != Error::Code::kNotFound) return status.error();
      batch.ended = true;
      return batch;
    }
    batch.newest = options_.now();
    batch.samples = page_samples(touched_, tracker_->access(),
                                 static_cast<std::uint32_t>(pid_), batch.newest,
                                 kMostPageSamples);
    cost_ += options_.cpu_time() - began;
    if (!due_in(pause())) {
      return io(std::string("timer: ") + std::strerror(errno));
    }
    return batch;
  }

  // The first look only sets the bits: the next comes soon, and its pause is
  // for both, or a short job would have ended before anything is found.
  Nanos pause() {
    if (std::exchange(first_, false)) return options_.shortest;
    const double nanos =
        static_cast<double>(std::exchange(cost_, 0)) / options_.budget;
    return static_cast<Nanos>(
        std::clamp(nanos, static_cast<double>(options_.shortest),
                   static_cast<double>(options_.longest)));
  }

  const int pid_;
  const std::unique_ptr<PageTracker> tracker_;
  const PageSampling options_;
  const int timer_;
  std::vector<PageTouch> touched_;
  bool first_ = true;  // no look yet
  Nanos cost_ = 0;     // of looks, not yet paid for by a pause
};

}  // namespace

std::vector<Sample> page_samples(std::span<const PageTouch> touched,
                                 Access access, std::uint32_t thread,
                                 Nanos time, std::size_t most) {
  // So many pages beside each other make one sample that there are not more
  // than `most`; what is left of a run makes one, too.
  const auto count = [&](std::uint64_t pages_each) {
    std::uint64_t samples = 0;
    for (const PageTouch& touch : touched) {
      const std::uint64_t pages = touch.bytes / Pagemap::kPage;
      samples += (pages + pages_each - 1) / pages_each;
    }
    return samples;
  };
  std::uint64_t each = 1;
  const std::uint64_t least = std::max(most, touched.size());
  while (count(each) > least) each *= 2;
  std::vector<Sample> samples;
  for (const PageTouch& touch : touched) {
    for (Bytes at = 0; at < touch.bytes; at += each * Pagemap::kPage) {
      const std::uint64_t pages =
          std::min(each, (touch.bytes - at) / Pagemap::kPage);
      if (pages == 0) break;
      Sample sample;
      sample.time = time;
      sample.address = touch.start + at;
      sample.thread = thread;
      sample.period = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(pages * touch.times, ~std::uint32_t{0}));
      sample.access = access;
      samples.push_back(sample);
    }
  }
  return samples;
}

Result<std::unique_ptr<Sampler>> open_pages(
    int pid, std::unique_ptr<PageTracker> tracker, PageSampling options) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (timer < 0) return io(std::string("timer: ") + std::strerror(errno));
  auto sampler = std::make_unique<PageSampler>(pid, std::move(tracker),
                                               std::move(options), timer);
  if (!sampler->due_in(1))
    return io(std::string("timer: ") + std::strerror(errno));
  return std::unique_ptr<Sampler>(std::move(sampler));
}

Result<std::unique_ptr<Sampler>> open_pages(const std::string& tracker,
                                            int pid) {
  if (pid <= 0) {
    return invalid(
        "source pages needs a process to look at; give its number or a "
        "command");
  }
  PageSampling options;
  options.now = [] { return read_clock(CLOCK_MONOTONIC); };
  options.cpu_time = [] { return read_clock(CLOCK_THREAD_CPUTIME_ID); };
  auto opened = open_page_tracker(tracker, pid, options.files);
  if (!opened) return opened.error();
  return open_pages(pid, *std::move(opened), std::move(options));
}

}  // namespace thermocline
