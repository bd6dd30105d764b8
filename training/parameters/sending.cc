#include "training/parameters/sending.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace thermocline {
namespace {

struct Way {
  const char* name;
  const char* order;
  bool stale;
};

constexpr Way kWays[] = {{"bulk", "fifo", false},
                         {"fifo", "fifo", true},
                         {"random", "random", true},
                         {"magnitude", "magnitude", true},
                         {"change", "change", true}};

struct Reached {
  double rate = 0;
  double bytes = std::numeric_limits<double>::infinity();
  double seconds = 0;
  std::size_t clocks = 0;  // 0: never
};

Result<Reached> reach(const SendingOptions& options, const SendingJob& job,
                      const Way& way) {
  Reached best;
  for (const double rate : options.rates) {
    const auto progress =
        job(way.order, way.stale ? options.staleness : 0, rate);
    if (!progress) return progress.error();
    for (std::size_t i = 0; i < progress->size(); ++i) {
      const Progress& one = (*progress)[i];
      if (!(one.loss <= options.target)) continue;  // also when it diverged
      if (one.bytes < best.bytes) best = {rate, one.bytes, one.seconds, i + 1};
      break;
    }
  }
  return best;
}

void print(const Way& way, const SendingOptions& options,
           const Reached& reached, double fifo) {
  std::printf("%-10s %9lld ", way.name,
              static_cast<long long>(way.stale ? options.staleness : 0));
  if (reached.clocks == 0) {
    std::printf("%6s\n", "never");
  } else {
    std::printf("%6g %8.0f %7zu %8.3f ", reached.rate, reached.bytes / 1000,
                reached.clocks, reached.seconds);
    if (std::isfinite(fifo)) std::printf("%12.2fx", reached.bytes / fifo);
    std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace

Result<bool> compare_sending(Ranks& ranks, const SendingOptions& options,
                             const SendingJob& job) {
  const bool speaks = ranks.rank() == 0;
  if (speaks) {
    std::printf("%-10s %9s %6s %8s %7s %8s %13s\n", "way", "staleness", "rate",
                "kB", "clocks", "s", "of fifo's kB");
  }
  double bulk = 0;
  double fifo = std::numeric_limits<double>::infinity();
  double judged = fifo;
  for (const Way& way : kWays) {
    const auto reached = reach(options, job, way);
    if (!reached) return reached.error();
    const std::string name = way.name;
    if (name == "bulk") bulk = reached->bytes;
    if (name == "fifo") fifo = reached->bytes;
    if (name == options.judged) judged = reached->bytes;
    if (speaks) print(way, options, *reached, fifo);
  }
  return judged < bulk;
}

}  // namespace thermocline
