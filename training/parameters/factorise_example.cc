// factorise_example: one matrix factorisation in several ways.
//
// First in order over ranks, which gives the loss of a serial run whatever
// their number, and data-parallel beside it, which does not. Then data-parallel
// within a budget for what is sent, in several orders of sending.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>

#include "training/parameters/factorise.h"
#include "training/ranks/job.h"

namespace thermocline {
namespace {

struct Settings {
  std::vector<int> ranks{1, 2, 3, 4, 6};
  int epochs = 30;
  int clocks = 16;
  std::int64_t users = 1200;
  std::int64_t items = 900;
  std::int64_t ratings = 40000;
  double rate = 0.02;                           // in order
  std::vector<double> rates{0.01, 0.02, 0.04};  // within a budget
  std::int64_t budget = 800;                    // bytes per rank and clock
  std::int64_t staleness = 32;
  double target = 0.25;  // of the loss at first
  std::int64_t seed = 3;
  std::vector<std::string> parts{"order", "budget", "steps"};
  bool check = false;
};

Ratings ratings_of(const Settings& settings) {
  return make_ratings(settings.users, settings.items,
                      static_cast<std::size_t>(settings.ratings),
                      static_cast<std::uint64_t>(settings.seed));
}

// Whether all is as the checks of --check ask; of rank 0.
Result<bool> compare_orders(Ranks& ranks, const Settings& settings) {
  const auto ratings = ratings_of(settings);
  FactoriseOptions how;
  how.epochs = settings.epochs;
  how.rate = settings.rate;
  const auto ordered = factorise_in_order(ranks, ratings, how);
  if (!ordered) return ordered.error();
  // As many exchanges as the loop in order has; at its rate, and at the best.
  how.clocks_an_epoch = ranks.size();
  double at_its_rate = 0;
  double at_best = std::numeric_limits<double>::infinity();
  for (const double part : {1.0, 0.5, 0.25, 0.125}) {
    how.rate = settings.rate * part;
    const auto bulk = factorise_in_parallel(ranks, ratings, how);
    if (!bulk) return bulk.error();
    const double last = bulk->back().loss;
    if (part == 1.0) at_its_rate = last;
    if (last < at_best) at_best = last;  // never if it diverged
  }
  how.rate = settings.rate;
  if (ranks.rank() != 0) return true;
  const auto serial = factorise_serially(ranks.size(), ratings, how);
  if (!serial) return serial.error();
  const auto alone = factorise_serially(1, ratings, how);
  if (!alone) return alone.error();
  bool same = true;
  for (std::size_t i = 0; i < serial->size(); ++i) {
    same = same && (*serial)[i] == (*ordered)[i].loss;
  }
  const double loss = ordered->back().loss;
  std::printf("%5d %10.4f %20s %15.4f %15.4f\n", ranks.size(), loss,
              same ? "the same bits" : "DIFFERENT", at_its_rate, at_best);
  std::fflush(stdout);
  return same && loss < 1.03 * alone->back();
}

Result<bool> compare_budgets(Ranks& ranks, const Settings& settings) {
  const auto ratings = ratings_of(settings);
  FactoriseOptions how;
  how.epochs = settings.epochs;
  how.clocks_an_epoch = settings.clocks;
  how.bytes_a_clock = settings.budget;
  double at_first = 0;
  for (const Rating& one : ratings.all) {
    at_first += static_cast<double>(one.value * one.value);
  }
  SendingOptions options;
  options.staleness = settings.staleness;
  options.rates = settings.rates;
  options.target =
      settings.target * at_first / static_cast<double>(ratings.all.size());
  if (ranks.rank() == 0) {
    std::printf(
        "\nto a loss of %.4f, %d ranks, %d clocks an epoch, %lld bytes a rank "
        "and clock, each at its best rate\n",
        options.target, ranks.size(), settings.clocks,
        static_cast<long long>(settings.budget));
  }
  return compare_sending(
      ranks, options,
      [&](const std::string& order, std::int64_t staleness, double rate) {
        how.order = order;
        how.staleness = staleness;
        how.rate = rate;
        return factorise_in_parallel(ranks, ratings, how);
      });
}

// The last losses with a fixed step and with AdaRevision, stale alike.
Result<bool> compare_steps(Ranks& ranks, const Settings& settings) {
  const auto ratings = ratings_of(settings);
  FactoriseOptions how;
  how.epochs = settings.epochs;
  how.clocks_an_epoch = settings.clocks;
  how.bytes_a_clock = settings.budget;
  how.staleness = settings.staleness;
  if (ranks.rank() == 0) {
    std::printf("\nloss after %d epochs, staleness %lld\n%6s %10s %12s\n",
                settings.epochs, static_cast<long long>(settings.staleness),
                "rate", "fixed", "adarevision");
  }
  bool good = false;
  for (const double rate : {0.02, 0.04, 0.08, 0.16, 0.32}) {
    how.rate = rate;
    how.revise = false;
    const auto fixed = factorise_in_parallel(ranks, ratings, how);
    if (!fixed) return fixed.error();
    how.revise = true;
    const auto revised = factorise_in_parallel(ranks, ratings, how);
    if (!revised) return revised.error();
    // It learns where a fixed step of the same size diverges.
    good = good || (!(fixed->back().loss < fixed->front().loss) &&
                    revised->back().loss < 0.5 * revised->front().loss);
    if (ranks.rank() != 0) continue;
    std::printf("%6g %10.4f %12.4f\n", rate, fixed->back().loss,
                revised->back().loss);
    std::fflush(stdout);
  }
  return good;
}

int run(const Settings& settings) {
  struct Part {
    const char* name;
    Result<bool> (*compare)(Ranks&, const Settings&);
  };
  constexpr Part kParts[] = {{"order", compare_orders},
                             {"budget", compare_budgets},
                             {"steps", compare_steps}};
  int failed = 0;
  const auto counts =
      started_by_mpirun() ? std::vector<int>{1} : settings.ranks;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto work = [&](Ranks& ranks) -> Result<bool> {
      bool good = true;
      for (const Part& part : kParts) {
        const bool in_order = part.compare == compare_orders;
        // The others are for the last number of ranks alone.
        if (!in_order && i + 1 < counts.size()) continue;
        if (std::count(settings.parts.begin(), settings.parts.end(),
                       part.name) == 0) {
          continue;
        }
        if (in_order && i == 0 && ranks.rank() == 0) {
          std::printf("%5s %10s %20s %15s %15s\n", "ranks", "in order",
                      "as the serial loop", "data-parallel",
                      "at its best rate");
        }
        const auto holds = part.compare(ranks, settings);
        if (!holds) return holds.error();
        good = good && *holds;
      }
      return good || !settings.check;
    };
    failed |= run_program("factorise_example", counts[i], work);
  }
  return failed;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  thermocline::Settings settings;
  CLI::App app{"Matrix factorisation, in order and with bounded staleness."};
  app.add_option("--ranks", settings.ranks, "numbers of ranks, without mpirun")
      ->check(CLI::Range(1, 64));
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 10000));
  app.add_option("--clocks", settings.clocks, "of an epoch")
      ->check(CLI::Range(1, 10000));
  app.add_option("--users", settings.users)->check(CLI::Range(1, 10'000'000));
  app.add_option("--items", settings.items)->check(CLI::Range(1, 10'000'000));
  app.add_option("--ratings", settings.ratings)
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--rate", settings.rate, "learning rate, in order")
      ->check(CLI::Range(0., 10.));
  app.add_option("--rates", settings.rates, "to choose from, within a budget")
      ->check(CLI::Range(0., 10.));
  app.add_option("--budget", settings.budget, "bytes per rank and clock")
      ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--staleness", settings.staleness)
      ->check(CLI::Range(1, 10000));
  app.add_option("--target", settings.target, "share of the variance")
      ->check(CLI::Range(0., 1.));
  app.add_option("--parts", settings.parts, "what to compare")
      ->check(CLI::IsMember({"order", "budget", "steps"}));
  app.add_option("--seed", settings.seed)->check(CLI::Range(0, 1'000'000));
  app.add_flag("--check", settings.check,
               "fail unless the ordered loss is the serial one, bit for bit, "
               "magnitude reaches the target with fewer bytes than bulk, and "
               "AdaRevision learns at a rate where a fixed step diverges");
  CLI11_PARSE(app, argc, argv);
  return thermocline::run(settings);
}
