// exchange_overlap: how much of an exchange's time hides behind compute.
//   tests/training/mpirun 2 120 build/release/bin/exchange_overlap
// or, between hosts, tests/training/between_hosts 2 120 --rate 200mbit
// likewise.
//
// What a job waits for the exchange is the time that it spends in advance() and
// finish(). Without samples to exchange, that is the wait for the slower rank;
// it is taken off. Compute is waited for, as for a device: between hosts, Open
// MPI's polling thread has a core then, which it needs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "training/exchange/exchange.h"
#include "training/ranks/job.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int ranks = 2;
  std::size_t samples = 1000;  // of a rank
  std::size_t bytes = 65536;   // of a sample
  std::size_t iterations = 100;
  double compute_ms = 5;  // of an iteration
  double fraction = 0.1;
  int epochs = 9;
};

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

// Seconds that one epoch's exchange kept this rank from its work.
Result<double> epoch(SampleExchange& exchange, const Settings& settings,
                     bool overlapped, std::uint64_t number) {
  exchange.begin(number);
  double out = 0;
  for (std::size_t i = 0; i < settings.iterations; ++i) {
    std::this_thread::sleep_for(
        std::chrono::duration<double, std::milli>(settings.compute_ms));
    const auto from = Clock::now();
    if (overlapped) {
      exchange.advance(settings.samples * (i + 1) / settings.iterations);
    }
    out += seconds_since(from);
  }
  const auto from = Clock::now();
  if (auto ok = exchange.finish(); !ok) return ok.error();
  return out + seconds_since(from);
}

Result<SampleExchange> make(Ranks& ranks, const Settings& settings,
                            double fraction) {
  std::vector<StoredSample> shard;
  for (std::size_t i = 0; i < settings.samples; ++i) {
    const auto id =
        static_cast<std::uint64_t>(ranks.rank()) * settings.samples + i;
    shard.push_back({id, std::vector<std::byte>(settings.bytes,
                                                static_cast<std::byte>(id))});
  }
  return SampleExchange::make(ranks, std::move(shard), {fraction});
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

Status measure(Ranks& ranks, const Settings& settings) {
  auto still = make(ranks, settings, 0);
  if (!still) return still.error();
  auto moving = make(ranks, settings, settings.fraction);
  if (!moving) return moving.error();
  std::vector<double> none;
  std::vector<double> at_end;
  std::vector<double> overlapped;
  // In turns, so that what else the machine does meets all three alike.
  for (int i = 0; i < settings.epochs; ++i) {
    const auto number = static_cast<std::uint64_t>(2 * i);
    const auto a = epoch(*still, settings, false, number);
    if (!a) return a.error();
    const auto b = epoch(*moving, settings, false, number);
    if (!b) return b.error();
    const auto c = epoch(*moving, settings, true, number + 1);
    if (!c) return c.error();
    none.push_back(*a);
    at_end.push_back(*b);
    overlapped.push_back(*c);
  }
  if (ranks.rank() != 0) return {};
  const double wait = median(none);
  const double exchange = median(at_end) - wait;
  const double exposed = median(overlapped) - wait;
  std::printf(
      "%d ranks, %zu iterations an epoch, %.1f MB sent by a rank: exchanged "
      "at the end %.1f ms, exposed when overlapped %.1f ms (waiting for the "
      "slower rank, %.1f ms, is taken off): ",
      ranks.size(), settings.iterations,
      static_cast<double>(moving->stats().sent_bytes) / 2e6 / settings.epochs,
      1e3 * exchange, 1e3 * exposed, 1e3 * wait);
  if (exchange > wait) {
    std::printf("%.0f %% hidden\n", 100 * (1 - exposed / exchange));
  } else {
    std::printf("too short to be told from waiting\n");
  }
  return {};
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  thermocline::Settings settings;
  CLI::App app{"How much of an exchange's time hides behind compute."};
  app.add_option("--ranks", settings.ranks, "ranks without mpirun")
      ->check(CLI::Range(1, 64));
  app.add_option("--samples", settings.samples, "of a rank")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--bytes", settings.bytes, "of a sample")
      ->check(CLI::Range(1, 100'000'000));
  app.add_option("--iterations", settings.iterations, "of an epoch")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--compute-ms", settings.compute_ms, "of an iteration")
      ->check(CLI::Range(0., 1e6));
  app.add_option("--fraction", settings.fraction)->check(CLI::Range(0., 1.));
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  const auto work =
      [&](thermocline::Ranks& ranks) -> thermocline::Result<bool> {
    if (auto ok = thermocline::measure(ranks, settings); !ok) return ok.error();
    return true;
  };
  return thermocline::run_program("exchange_overlap", settings.ranks, work);
}
