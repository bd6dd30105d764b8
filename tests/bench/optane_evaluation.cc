// optane_evaluation [CSV]: what OperatorTimes is worth on kernels measured on
// real Optane, beside plainer models. Fitted numbers come from other kernels
// of other kinds of operators than those judged ("other kinds"), or are those
// of TransferModel::optane() ("shipped": on a file other than the one that
// they were fitted on, nothing of it was ever seen).
//
// The CSV is looked for in $THERMOCLINE_SHARED_DATA, else ../shared/data.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "tests/bench/optane_kernels.h"

using namespace thermocline;

namespace {

using Measurement = OperatorTimes::Measurement;
using Tiers = std::vector<TierId>;
// A model of one kernel, given what is known of it.
using Predict = std::function<double(const Tiers&)>;
using Model = std::function<Predict(const Kernel&, Known)>;

constexpr double kShortest = 50e3;        // ns all-fast; shorter is not judged
constexpr std::size_t kRareKernels = 10;  // kinds with fewer are one kind

std::size_t slow(const Tiers& tiers) {
  return static_cast<std::size_t>(
      std::count(tiers.begin(), tiers.end(), TierId{1}));
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(
      std::lround(q * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(at),
                   values.end());
  return values[at];
}

// Single-slow times minus all-fast, in order of the operands.
std::vector<double> deltas(const Kernel& kernel) {
  std::vector<double> out(kernel.measured.operands.size());
  for (const auto& one : kernel.measured.measurements) {
    if (slow(one.tiers) != 1) continue;
    const auto at = std::find(one.tiers.begin(), one.tiers.end(), TierId{1});
    out[static_cast<std::size_t>(at - one.tiers.begin())] =
        one.ns - kernel.fast_ns;
  }
  return out;
}

double sum_slow(const std::vector<double>& weights, const Tiers& tiers) {
  double sum = 0;
  for (std::size_t i = 0; i < tiers.size(); ++i) sum += tiers[i] * weights[i];
  return sum;
}

Predict additive(const Kernel& kernel, Known) {
  return [fast = kernel.fast_ns, weights = deltas(kernel)](const Tiers& tiers) {
    return fast + sum_slow(weights, tiers);
  };
}

// Weights, scaled so that all of them together reach the all-slow time.
Predict scaled(const Kernel& kernel, std::vector<double> weights) {
  const double sum =
      sum_slow(weights, Tiers(kernel.measured.operands.size(), 1));
  const double scale = sum > 0 ? (kernel.slow_ns - kernel.fast_ns) / sum : 0;
  return [=, fast = kernel.fast_ns](const Tiers& tiers) {
    return fast + scale * sum_slow(weights, tiers);
  };
}

Predict additive_scaled(const Kernel& kernel, Known) {
  auto weights = deltas(kernel);
  for (double& weight : weights) weight = std::max(0.0, weight);
  return scaled(kernel, weights);
}

Predict byte_share(const Kernel& kernel, Known) {
  std::vector<double> weights;
  for (const auto& operand : kernel.measured.operands) {
    weights.push_back(static_cast<double>(operand.bytes));
  }
  return scaled(kernel, weights);
}

Predict ours(const TransferModel& numbers, const Kernel& kernel, Known which) {
  auto times = OperatorTimes::fit(numbers, kernel.measured.operands,
                                  known(kernel.measured, which));
  CHECK(times);
  return [times = *std::move(times), which](const Tiers& tiers) {
    return which == Known::kAll ? times.modelled_ns(tiers)
                                : times.predict_ns(tiers);
  };
}

// Errors of all mixes of `least` or more slow tensors but all-slow.
std::vector<double> errors(const std::vector<const Kernel*>& kernels,
                           const Model& model, Known which, std::size_t least) {
  std::vector<double> out;
  for (const Kernel* kernel : kernels) {
    const Predict predict = model(*kernel, which);
    for (const auto& one : kernel->measured.measurements) {
      const std::size_t count = slow(one.tiers);
      if (count < least || count == one.tiers.size()) continue;
      out.push_back(std::abs(predict(one.tiers) / one.ns - 1));
    }
  }
  return out;
}

// As errors() of OperatorTimes, but each mix is predicted from all others of
// its kernel: what there is to know, short of the noise of the mix itself.
std::vector<double> errors_given_others(
    const std::vector<const Kernel*>& kernels) {
  std::vector<double> out;
  for (const Kernel* kernel : kernels) {
    const auto& all = kernel->measured.measurements;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t count = slow(all[i].tiers);
      if (count < 2 || count == all[i].tiers.size()) continue;
      auto others = all;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const auto times = OperatorTimes::fit(TransferModel::optane(),
                                            kernel->measured.operands, others);
      CHECK(times);
      out.push_back(std::abs(times->predict_ns(all[i].tiers) / all[i].ns - 1));
    }
  }
  return out;
}

void print_errors(const char* name, const std::vector<double>& all) {
  std::printf("  %-46s %6.1f %% %6.1f %% %7zu\n", name,
              100 * quantile(all, 0.5), 100 * quantile(all, 0.9), all.size());
}

// (c): the mix chosen within a budget of fast bytes, against the true best.
void print_choices(const char* name, const std::vector<const Kernel*>& kernels,
                   const Model& model, Known which) {
  std::size_t good = 0;
  double loss = 0;
  std::vector<double> losses;
  for (const Kernel* kernel : kernels) {
    const auto& op = kernel->measured;
    const Predict predict = model(*kernel, which);
    const auto given = known(op, which);
    double total = 0;
    for (const auto& operand : op.operands) {
      total += static_cast<double>(operand.bytes);
    }
    for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9}) {
      double best = INFINITY;
      double promised = INFINITY;
      double got = 0;
      for (const auto& one : op.measurements) {
        double fast = 0;
        for (std::size_t i = 0; i < one.tiers.size(); ++i) {
          fast += one.tiers[i] == 0 ? static_cast<double>(op.operands[i].bytes)
                                    : 0.0;
        }
        if (fast > share * total) continue;
        best = std::min(best, one.ns);
        const auto at = std::find_if(
            given.begin(), given.end(),
            [&](const auto& known) { return known.tiers == one.tiers; });
        const double time = at != given.end() ? at->ns : predict(one.tiers);
        if (time < promised) {
          promised = time;
          got = one.ns;
        }
      }
      losses.push_back(got / best - 1);
      loss += losses.back();
      good += losses.back() <= 0.03;
    }
  }
  const auto count = static_cast<double>(losses.size());
  std::printf("  %-46s %6.1f %% %6.1f %% %7.1f %%\n", name,
              100 * static_cast<double>(good) / count, 100 * loss / count,
              100 * quantile(losses, 0.95));
}

// How far two measurements lie apart that differ only in where an input of at
// most 64 KiB lies, which the cache holds: the noise, were there nothing else.
void print_noise(const std::vector<const Kernel*>& kernels) {
  std::vector<double> apart[2];
  for (const Kernel* kernel : kernels) {
    const auto& op = kernel->measured;
    std::map<Tiers, double> times;
    for (const auto& one : op.measurements) times[one.tiers] = one.ns;
    for (const auto& [tiers, ns] : times) {
      bool wrote = false;
      for (std::size_t i = 0; i < tiers.size(); ++i) {
        wrote |= tiers[i] == 1 && op.operands[i].written &&
                 op.operands[i].bytes > 65536;
      }
      for (std::size_t i = 0; i < tiers.size(); ++i) {
        Tiers other = tiers;
        other[i] = 1;
        if (tiers[i] == 1 || op.operands[i].written ||
            op.operands[i].bytes > 65536 || !times.count(other)) {
          continue;
        }
        apart[wrote].push_back(std::abs(times[other] / ns - 1));
      }
    }
  }
  std::printf("Noise: mixes that differ only in an input of <= 64 KiB\n");
  print_errors("a large output is slow", apart[1]);
  print_errors("no large output is slow", apart[0]);
}

// Where fitting starts: six Optane DIMMs beside DRAM as published (Izraelevitz
// and others, 2019; DRAM of one socket 90 GB/s), the rest round numbers.
TransferModel published() {
  TransferModel out;
  out.tiers = {{}, {1 / 39.4 - 1 / 90.0, 1 / 13.9 - 1 / 90.0, 100e3}};
  out.cached_bytes = 100e3;
  out.hidden = 0.1;
  out.endpoint = 1;
  return out;
}

// For each kind of operator, numbers fitted on the others.
Result<std::map<std::string, TransferModel>> fit_on_others(
    const std::vector<const Kernel*>& kernels) {
  std::map<std::string, std::size_t> count;
  for (const Kernel* kernel : kernels) ++count[kernel->op];
  const auto fold = [&](const std::string& op) {
    return count[op] < kRareKernels ? std::string() : op;
  };
  std::map<std::string, TransferModel> by_fold;
  std::map<std::string, TransferModel> out;
  for (const auto& [op, unused] : count) {
    const std::string held = fold(op);
    if (!by_fold.count(held)) {
      std::vector<const MeasuredOperator*> others;
      for (const Kernel* kernel : kernels) {
        if (fold(kernel->op) != held) others.push_back(&kernel->measured);
      }
      const auto fitted = fit_transfer(others, published());
      if (!fitted) return fitted.error().within("without " + op);
      by_fold.emplace(held, *fitted);
    }
    out.emplace(op, by_fold.at(held));
  }
  return out;
}

void print_numbers(const TransferModel& fitted) {
  const auto& slow = fitted.tiers[1];
  std::printf(
      "Fitted on all of it: slow reads %.1f GB/s, slow writes %.2f GB/s and "
      "%.0f us each,\n  cached %.0f KB, hidden %.3f, doubts %.2f (reads) %.2f "
      "(writes), noise %.3f + %.3f,\n  endpoint %.2f\n",
      1 / slow.read_ns_per_byte, 1 / slow.write_ns_per_byte,
      slow.write_ns / 1e3, fitted.cached_bytes / 1e3, fitted.hidden,
      fitted.read_doubt, fitted.write_doubt, fitted.noise, fitted.write_noise,
      fitted.endpoint);
}

void print_population(const char* name,
                      const std::vector<const Kernel*>& kernels,
                      std::map<std::string, TransferModel>& by_kind) {
  const Model other_kinds = [&](const Kernel& kernel, Known which) {
    return ours(by_kind.at(kernel.op), kernel, which);
  };
  const Model shipped = [](const Kernel& kernel, Known which) {
    return ours(TransferModel::optane(), kernel, which);
  };
  std::printf("\n%s: %zu kernels of at least %.0f us\n", name, kernels.size(),
              kShortest / 1e3);
  std::printf("  %-46s %8s %8s %7s\n", "", "median", "p90", "mixes");
  std::printf(
      "(a) mixes of two or more slow, from endpoints and single-slow "
      "(goal 5 %%, 20 %%)\n");
  const auto row = [&](const char* label, const Model& model, Known which,
                       std::size_t least) {
    print_errors(label, errors(kernels, model, which, least));
  };
  row("additive", additive, Known::kSingles, 2);
  row("additive, scaled to all-slow", additive_scaled, Known::kSingles, 2);
  row("OperatorTimes, other kinds", other_kinds, Known::kSingles, 2);
  row("OperatorTimes, shipped", shipped, Known::kSingles, 2);
  print_errors("the same, given every other mix of the kernel",
               errors_given_others(kernels));
  row("the same in hindsight: given the mix, too", shipped, Known::kAll, 2);
  std::printf("(b) from the endpoints alone (goal: median 12 %%)\n");
  row("share of slow bytes", byte_share, Known::kEndpoints, 2);
  row("OperatorTimes, other kinds", other_kinds, Known::kEndpoints, 2);
  row("OperatorTimes, shipped", shipped, Known::kEndpoints, 2);
  row("share of slow bytes, single-slow too", byte_share, Known::kEndpoints, 1);
  row("OperatorTimes, other kinds, single-slow too", other_kinds,
      Known::kEndpoints, 1);
  std::printf(
      "(c) mix chosen for 10, 25, 50, 75, 90 %% of the bytes fast (goal: 95 %% "
      "within 3 %%)\n");
  std::printf("  %-46s %8s %8s %9s\n", "", "in 3 %", "mean", "p95");
  print_choices("additive", kernels, additive, Known::kSingles);
  print_choices("additive, scaled to all-slow", kernels, additive_scaled,
                Known::kSingles);
  print_choices("OperatorTimes, other kinds", kernels, other_kinds,
                Known::kSingles);
  print_choices("share of slow bytes, endpoints alone", kernels, byte_share,
                Known::kEndpoints);
  print_choices("OperatorTimes, other kinds, endpoints alone", kernels,
                other_kinds, Known::kEndpoints);
  const Model hindsight = [&](const Kernel& kernel, Known) {
    return shipped(kernel, Known::kAll);
  };
  print_choices("OperatorTimes in hindsight: given every mix", kernels,
                hindsight, Known::kSingles);
}

void print_kinds(const std::vector<const Kernel*>& kernels,
                 std::map<std::string, TransferModel>& by_kind) {
  std::map<std::string, std::vector<const Kernel*>> kinds;
  for (const Kernel* kernel : kernels) kinds[kernel->op].push_back(kernel);
  std::printf("\n(a) by kind of operator, its own kind never fitted on\n");
  for (const auto& [op, own] : kinds) {
    const auto all = errors(
        own,
        [&](const Kernel& kernel, Known which) {
          return ours(by_kind.at(kernel.op), kernel, which);
        },
        Known::kSingles, 2);
    if (!all.empty()) print_errors(op.c_str(), all);
  }
}

int evaluate(const std::string& path) {
  const auto read = read_kernels(path);
  if (!read) {
    std::fprintf(stderr, "optane_evaluation: %s\n",
                 read.error().message.c_str());
    return 1;
  }
  std::vector<const Kernel*> all;
  std::vector<const Kernel*> whole;
  std::vector<const MeasuredOperator*> measured;
  for (const Kernel& kernel : read->kernels) {
    if (kernel.fast_ns < kShortest || kernel.measured.operands.size() < 2) {
      continue;
    }
    all.push_back(&kernel);
    measured.push_back(&kernel.measured);
    if (kernel.every_tensor) whole.push_back(&kernel);
  }
  std::printf(
      "%s: %zu kernels; %zu more without endpoints\nor a single-slow time, or "
      "of 0 us\n",
      path.c_str(), read->kernels.size(), read->incomplete);
  const auto fitted = fit_transfer(measured, published());
  if (!fitted) {
    std::fprintf(stderr, "optane_evaluation: %s\n",
                 fitted.error().message.c_str());
    return 1;
  }
  print_numbers(*fitted);
  auto by_kind = fit_on_others(all);
  if (!by_kind) {
    std::fprintf(stderr, "optane_evaluation: %s\n",
                 by_kind.error().message.c_str());
    return 1;
  }
  print_population("Every tensor was varied", whole, *by_kind);
  print_population("All, tensors that were never slow left out", all, *by_kind);
  print_kinds(all, *by_kind);
  std::printf("\n");
  print_noise(all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return evaluate(argv[1]);
  const char* shared = std::getenv("THERMOCLINE_SHARED_DATA");
  const std::string path =
      std::string(shared != nullptr ? shared : "../shared/data") +
      "/optane_kernels.csv";
  if (std::FILE* file = std::fopen(path.c_str(), "r")) {
    std::fclose(file);
    return evaluate(path);
  }
  std::printf(
      "optane_evaluation: skipped, no file %s (run it beside the shared data, "
      "or name the file)\n",
      path.c_str());
  return 0;
}
