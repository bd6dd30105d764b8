// numa_example: softmax regression by solvers in groups, one group a memory
// node of this host; --nodes N makes up N nodes, to see more groups anywhere.
//
// All groups must come to the loss of one group with as many solvers, within
// what another order of adding makes of floats.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <random>

#include "training/numa/grouped_solvers.h"

namespace thermocline {
namespace {

constexpr std::size_t kFeatures = 32;
constexpr std::size_t kClasses = 6;
constexpr std::size_t kWeights = kFeatures * kClasses;

struct Settings {
  int solvers = 4;
  int steps = 60;
  int nodes = 0;  // made up; 0: this host's
  bool check = false;
};

struct Data {
  std::vector<float> features;  // a row of kFeatures each
  std::vector<std::size_t> labels;
};

// Overlapping clusters.
Data make_data(std::size_t count) {
  std::mt19937_64 rng(5);
  std::normal_distribution<float> normal;
  std::vector<float> centres(kWeights);
  for (float& one : centres) one = 0.5F * normal(rng);
  Data out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t label = rng() % kClasses;
    out.labels.push_back(label);
    for (std::size_t k = 0; k < kFeatures; ++k) {
      out.features.push_back(centres[label * kFeatures + k] + normal(rng));
    }
  }
  return out;
}

// Adds the gradient of one sample; returns its loss.
double learn(std::span<const float> weights, const float* features,
             std::size_t label, std::span<float> gradient) {
  double scores[kClasses];
  double total = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    double score = 0;
    for (std::size_t k = 0; k < kFeatures; ++k) {
      score += static_cast<double>(weights[c * kFeatures + k] * features[k]);
    }
    total += scores[c] = std::exp(score);
  }
  for (std::size_t c = 0; c < kClasses; ++c) {
    const auto error =
        static_cast<float>(scores[c] / total - (c == label ? 1 : 0));
    for (std::size_t k = 0; k < kFeatures; ++k) {
      gradient[c * kFeatures + k] += error * features[k];
    }
  }
  return -std::log(scores[label] / total);
}

struct Trained {
  double loss = 0;    // of the last step
  bool alike = true;  // all replicas, bit for bit
  GroupedReport report;
};

Trained train(const std::vector<SolverGroup>& groups, const Data& data,
              int steps, bool bind) {
  Trained out;
  const std::size_t samples = data.labels.size();
  std::vector<std::vector<float>> last(groups.size());
  // The loss is one more number of the gradient.
  out.report = run_grouped(
      groups, {.parameters = kWeights + 1, .bind = bind}, [&](Solver& solver) {
        std::vector<float> gradient(kWeights + 1);
        for (int step = 0; step < steps; ++step) {
          gradient.assign(kWeights + 1, 0.0F);
          const auto weights = solver.replica();
          double loss = 0;
          for (auto i = static_cast<std::size_t>(solver.index()); i < samples;
               i += static_cast<std::size_t>(solver.count())) {
            loss += learn(weights, data.features.data() + i * kFeatures,
                          data.labels[i], gradient);
          }
          gradient.back() = static_cast<float>(loss);
          const auto sum = solver.sum(gradient);
          const auto part = solver.slice();
          for (std::size_t i = part.begin; i < part.end && i < kWeights; ++i) {
            weights[i] -= sum[i] / static_cast<float>(samples);
          }
          if (solver.index() == 0) {
            out.loss =
                static_cast<double>(sum.back()) / static_cast<double>(samples);
          }
          solver.meet();
        }
        if (solver.place() == 0) {
          const auto weights = solver.replica();
          last[static_cast<std::size_t>(solver.group())].assign(weights.begin(),
                                                                weights.end());
        }
      });
  for (const auto& one : last) out.alike = out.alike && one == last.front();
  return out;
}

int run(const Settings& settings) {
  const auto cpus = allowed_cpus();
  std::vector<NumaNode> nodes;
  if (settings.nodes == 0) {
    auto found = numa_nodes("/sys", cpus);
    if (!found) {
      std::fprintf(stderr, "numa_example: %s\n", found.error().message.c_str());
      return 1;
    }
    nodes = *std::move(found);
  }
  for (int id = 0; id < settings.nodes; ++id) nodes.push_back({id, {0}});
  const auto data = make_data(1200);
  const auto groups = solver_groups(nodes, settings.solvers);
  const bool real = settings.nodes == 0;
  const auto grouped = train(groups, data, settings.steps, real);
  const auto one = train(solver_groups({{0, cpus}}, settings.solvers), data,
                         settings.steps, false);
  for (const auto& group : groups) {
    std::printf("node %d: %d solvers on %zu CPUs\n", group.node.id,
                group.solvers, group.node.cpus.size());
  }
  std::printf(
      "loss %.6f in %zu groups, %.6f in one; replicas %s, %zu pages of them "
      "on another node; %.1f kB of gradients between groups a step (%.1f if "
      "each solver fetched all)\n",
      grouped.loss, groups.size(), one.loss,
      grouped.alike ? "the same bits" : "DIFFER", grouped.report.astray,
      static_cast<double>(grouped.report.crossed_bytes) / settings.steps / 1e3,
      [&] {
        double each = 0;
        for (const auto& group : groups) {
          each += group.solvers * (settings.solvers - group.solvers);
        }
        return each * (kWeights + 1) * sizeof(float) / 1e3;
      }());
  const bool good = grouped.alike && grouped.loss < 1.0 &&
                    std::abs(grouped.loss - one.loss) < 1e-3 * one.loss &&
                    grouped.report.unbound == 0 && grouped.report.astray == 0;
  return good || !settings.check ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  thermocline::Settings settings;
  CLI::App app{"Softmax regression by solvers in groups, one a memory node."};
  app.add_option("--solvers", settings.solvers)->check(CLI::Range(1, 1024));
  app.add_option("--steps", settings.steps)->check(CLI::Range(1, 1'000'000));
  app.add_option("--nodes", settings.nodes, "made up; 0: this host's")
      ->check(CLI::Range(0, 64));
  app.add_flag("--check", settings.check,
               "fail unless the loss is that of one group, and below 1");
  CLI11_PARSE(app, argc, argv);
  return thermocline::run(settings);
}
