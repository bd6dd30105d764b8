// How long autotm takes to plan a step of 1,000 tensors, by mode and share of
// the peak that is fast: wall clock, the plan's own note with its gap, and the
// step's predicted time. Goal: static 1 s, synchronous 10 s to 0.1 %.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "policies/bounds.h"
#include "policies/replay.h"
#include "tests/policies/tensor_jobs.h"

int main() {
  using namespace thermocline;
  ChainJob job;
  job.layers = 200;
  const auto step = Iteration::from_trace(job.trace(), two_tiers());
  if (!step) {
    std::fprintf(stderr, "plan_speed: %s\n", step.error().message.c_str());
    return 1;
  }
  std::printf("%zu tensors, %zu operators; all fast %.4g ms, all slow %.4g\n",
              step->tensors(), step->operators(), step->all_fast_ns() / 1e6,
              step->all_slow_ns() / 1e6);
  for (const double share : {0.2, 0.5}) {
    const Room room{
        {static_cast<Bytes>(static_cast<double>(step->peak_bytes()) * share),
         Bytes{1} << 40}};
    for (const char* mode : {"static", "synchronous"}) {
      auto policy =
          Registry<Policy>::make("policy", "autotm", {{"mode", mode}});
      if (!policy) return 1;
      const auto begun = std::chrono::steady_clock::now();
      const auto plan = (*policy)->plan(*step, room);
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begun;
      if (!plan) {
        std::fprintf(stderr, "plan_speed: %s\n", plan.error().message.c_str());
        return 1;
      }
      const auto out = replay(*step, room, **plan);
      if (!out) return 1;
      std::printf("fast %2.0f %%  %-12s %6.2f s  step %.4g ms  %s\n",
                  100 * share, mode, took.count(), out->steady_ns() / 1e6,
                  out->note.c_str());
    }
  }
  return 0;
}
