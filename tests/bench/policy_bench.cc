// What a decision costs: each policy on 100,000 regions, half of which fit the
// fastest tier, in windows that follow one another as in the daemon.
//
//   few    10,000 samples a window, skewed, on a hot set that stays
//   moves  the same, but the hot set is another one every tenth window
//   all    every region is accessed in every window
//
// The time is the processor's in decide() alone, in ms; worst_ms is the slowest
// window. The first windows, in which everything is new, are not measured.
// Two builds that decide alike have the same `signature`.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "policies/policy.h"

namespace thermocline {
namespace {

constexpr std::size_t kRegions = 100'000;
constexpr Bytes kRegion = 256 * 1024;
constexpr int kFirstWindows = 30;
constexpr int kHotSetStays = 10;

enum Load { kFew, kMoves, kAll };

class Job {
 public:
  explicit Job(Load load) : load_(load), random_(7) {
    const Bytes half = kRegions / 2 * kRegion;
    tiers_ = {{half, 0, 100, 100, 6.7e9, 5.4e9},
              {2 * half, 0, 305, 305, 1.6e9, 4.5e8}};
    for (std::size_t i = 0; i < kRegions; ++i) {
      const bool fast = i < kRegions * 9 / 20;
      // Some are not resident as a whole.
      const Bytes bytes = i % 16 == 0 ? kRegion / 4096 * 1024 : kRegion;
      objects_.push_back({.id = static_cast<ObjectId>(i),
                          .bytes = bytes,
                          .tier = static_cast<TierId>(fast ? 0 : 1)});
    }
  }

  View next(const std::vector<Move>& moves) {
    for (const Move& move : moves) objects_[move.object].tier = move.to;
    for (auto& object : objects_) object.loads = object.stores = 0;
    touch();
    for (auto& tier : tiers_) tier.used = 0;
    for (const auto& object : objects_) {
      tiers_[object.tier].used += object.bytes;
    }
    return {window_++, 1'000'000'000, Bytes{256} << 20, objects_, tiers_};
  }

 private:
  void touch() {
    if (load_ == kMoves && window_ % kHotSetStays == 0) shift_ += 37'000;
    if (load_ == kAll) {
      for (auto& object : objects_) {
        object.loads = 199 * static_cast<double>(1 + object.id * 7919 % 50);
        object.stores = object.id % 3 == 0 ? 199 : 0;
      }
      return;
    }
    for (int i = 0; i < 10'000; ++i) {
      // Two random numbers multiplied: the low places are the hot ones.
      const auto place = random_() % 317 * (random_() % 317);
      auto& object = objects_[(place * 7919 + shift_) % kRegions];
      (i % 4 == 0 ? object.stores : object.loads) += 199;
    }
  }

  Load load_;
  std::mt19937_64 random_;
  std::vector<ObjectView> objects_;
  std::vector<TierView> tiers_;
  std::int64_t window_ = 0;
  std::size_t shift_ = 0;
};

// Of this thread: what others do on the machine does not count.
double cpu_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

void decide(benchmark::State& state, const std::string& name, Load load) {
  const auto policy =
      *Registry<Policy>::make("policy", name, nlohmann::json::object());
  Job job(load);
  std::vector<Move> moves;
  for (int i = 0; i < kFirstWindows; ++i)
    moves = policy->decide(job.next(moves));
  double worst = 0;
  double moved = 0;
  std::uint32_t signature = 0;
  for (auto unused : state) {
    (void)unused;
    const View view = job.next(moves);
    const double began = cpu_s();
    moves = policy->decide(view);
    const double took = cpu_s() - began;
    state.SetIterationTime(took);
    worst = std::max(worst, took * 1e3);
    moved += static_cast<double>(moves.size());
    for (const Move& move : moves) {
      signature = signature * 31 + (move.object * 7 + move.from) * 7 + move.to;
    }
  }
  state.counters["signature"] = signature;
  state.counters["worst_ms"] = worst;
  state.counters["moves"] =
      benchmark::Counter(moved, benchmark::Counter::kAvgIterations);
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  for (const auto& [name, entry] : Registry<Policy>::entries()) {
    if (name == "external") continue;  // its time is the program's
    const std::pair<const char*, Load> loads[] = {
        {"few", kFew}, {"moves", kMoves}, {"all", kAll}};
    for (const auto& [what, load] : loads) {
      benchmark::RegisterBenchmark(
          ("decide/" + name + "/" + what).c_str(),
          [name = name, load = load](benchmark::State& state) {
            decide(state, name, load);
          })
          ->UseManualTime()
          ->Iterations(100)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
