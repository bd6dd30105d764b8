#include "daemon/pinned_threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <system_error>
#include <thread>
#include <vector>

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

enum Gate : int { kClosed, kOpen, kGiveUp };

struct Run {
  Clock::time_point begin, end;
  double cpu_seconds = 0;
};

// Returns: 0, or an errno.
int stay_on(int cpu) {
  std::vector<cpu_set_t> sets(static_cast<std::size_t>(cpu) / CPU_SETSIZE + 1);
  const std::size_t bytes = sets.size() * sizeof sets[0];
  CPU_ZERO_S(bytes, sets.data());
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, sets.data());
  return pthread_setaffinity_np(pthread_self(), bytes, sets.data());
}

Together sum(const std::vector<Run>& runs) {
  auto begin = runs.front().begin;
  auto end = runs.front().end;
  double cpu = 0;
  double all = 0;
  for (const Run& run : runs) {
    begin = std::min(begin, run.begin);
    end = std::max(end, run.end);
    cpu += run.cpu_seconds;
    all += std::chrono::duration<double>(run.end - run.begin).count();
  }
  return {std::chrono::duration<double>(end - begin).count(),
          all > 0 ? std::min(cpu / all, 1.0) : 1};
}

}  // namespace

double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

Result<Together> run_together(std::span<const int> cpus,
                              const std::function<void(std::size_t)>& work) {
  std::vector<Run> runs(cpus.size());
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ready = 0;
  std::atomic<int> gate = kClosed;
  std::atomic<int> refused = 0;  // an errno
  std::atomic<int> refused_cpu = -1;

  const auto body = [&](std::size_t i) {
    if (const int code = stay_on(cpus[i]); code != 0) {
      refused = code;
      refused_cpu = cpus[i];
    }
    ++ready;
    ready.notify_one();
    gate.wait(kClosed);
    if (gate != kOpen) return;
    const double before = thread_cpu_seconds();
    runs[i].begin = Clock::now();
    work(i);
    runs[i].end = Clock::now();
    runs[i].cpu_seconds = thread_cpu_seconds() - before;
  };
  std::string shortage;
  try {
    threads.reserve(cpus.size());
    for (std::size_t i = 0; i < cpus.size(); ++i) threads.emplace_back(body, i);
  } catch (const std::system_error& error) {
    shortage = "cannot start " + std::to_string(cpus.size()) +
               " threads: " + error.what() + "; try fewer --threads";
  }
  for (auto seen = ready.load(); seen < threads.size(); seen = ready) {
    ready.wait(seen);
  }
  gate = shortage.empty() && refused == 0 ? kOpen : kGiveUp;
  gate.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (!shortage.empty()) return io(shortage);
  if (refused != 0) {
    return io("cannot run on CPU " + std::to_string(refused_cpu) + ": " +
              std::strerror(refused));
  }
  return sum(runs);
}

}  // namespace thermocline
