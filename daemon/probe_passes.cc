#include "daemon/probe_passes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "daemon/pinned_threads.h"

namespace thermocline {
namespace {

// The first try; the next ones are so many times as large, until one takes a
// part of a repeat's time.
constexpr Bytes kFirst = Bytes{1} << 20;
constexpr Bytes kGrows = 8;
constexpr double kTellsMore = 0.25;
constexpr double kNearlyAll = 0.99;  // of a part: all of it
constexpr double kMostPasses = 10'000;

struct Once {
  double bytes_per_s = 0;
  double seconds = 0;
  double ran = 1;
};

class Passes {
 public:
  Passes(const PassOptions& options, Bytes& at, const ProbePace& pace,
         const PassWork& work)
      : options_(options), at_(at), pace_(pace), work_(work) {
    if (at_ >= options_.part) at_ = 0;
  }

  // Each thread, through `amount` bytes of its part and round again.
  Result<Once> once(Bytes amount) {
    std::atomic<Bytes> wanted{0};
    const auto took = run_together(options_.cpus, [&](std::size_t thread) {
      Bytes mine = 0;
      Pass pass{thread, at_, 0, turn_};
      for (Bytes left = amount; left > 0 && !pace_.stop();
           left -= pass.size, ++pass.turn) {
        pass.size = std::min(left, options_.part - pass.at);
        mine += work_(pass);
        pass.at = (pass.at + pass.size) % options_.part;
      }
      wanted += mine;
    });
    if (!took) return took.error();
    if (auto ok = pace_.go_on(); !ok) return ok.error();
    at_ = (at_ + amount) % options_.part;
    turn_ += amount / options_.part + 2;
    const double seconds = std::max(took->seconds, 1e-9);
    return Once{static_cast<double>(wanted) / seconds, seconds, took->ran};
  }

  // What to go through in a repeat. Warms up, too.
  Result<Bytes> amount() {
    const double most = pace_.left_s() * kTellsMore;
    double spent = 0;
    for (Bytes tried = std::min(kFirst, options_.part);; tried *= kGrows) {
      const auto found = once(tried);
      if (!found) return found.error();
      spent += found->seconds;
      const bool tells = found->seconds >= options_.wanted_s * kTellsMore ||
                         spent + found->seconds * kGrows > most;
      if (tells) return amount(found->seconds / static_cast<double>(tried));
    }
  }

 private:
  Bytes amount(double s_per_byte) const {
    const double part = static_cast<double>(options_.part);
    const double wanted = std::max(options_.wanted_s, s_per_byte * part);
    const double bytes = pace_.repeat_s(wanted, options_.repeats) / s_per_byte;
    if (bytes > kNearlyAll * part) {
      const double passes =
          std::clamp(std::round(bytes / part), 1.0, kMostPasses);
      return options_.part * static_cast<Bytes>(passes);
    }
    return std::max(static_cast<Bytes>(bytes) / kPassGrain * kPassGrain,
                    std::min(kFirst, options_.part));
  }

  const PassOptions& options_;
  Bytes& at_;
  const ProbePace& pace_;
  const PassWork& work_;
  std::uint64_t turn_ = 1;
};

}  // namespace

Measured summary(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1
                            ? values[half]
                            : (values[half - 1] + values[half]) / 2;
  return {median, (values.back() - values.front()) / 2 / median,
          static_cast<int>(values.size())};
}

Result<Passed> measure_passes(const PassOptions& options, Bytes& at,
                              const ProbePace& pace, const PassWork& work) {
  CHECK(options.part >= kPassGrain && options.part % kPassGrain == 0);
  Passes passes(options, at, pace, work);
  const auto amount = passes.amount();
  if (!amount) return amount.error();
  std::vector<double> rates, ran;
  double last_s = 0;
  for (int done = 0; pace.again(done, options.repeats, last_s); ++done) {
    const auto found = passes.once(*amount);
    if (!found) return found.error();
    rates.push_back(found->bytes_per_s);
    ran.push_back(found->ran);
    last_s = found->seconds;
  }
  return Passed{summary(std::move(rates)), summary(std::move(ran)).median};
}

}  // namespace thermocline
