// elastic_example: trains a network while workers come, go and die, to the
// loss of a run that nothing happened to, bit for bit.
//
// The bits hold whatever the number of ranks, because the work is cut into
// shards whose number never changes: a rank computes some shards' gradients,
// and all are added in the order of the shards. Which samples a shard has in
// a step follows from both, so there is nothing to remember but the state.
#include <torch/torch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "training/elastic/member.h"
#include "training/elastic/restore_for_all.h"
#include "training/ranks/job.h"
#include "training/torch_checkpoint.h"

namespace thermocline {
namespace {

constexpr std::int64_t kFeatures = 16;
constexpr std::int64_t kClasses = 4;
constexpr std::int64_t kBatch = 8;  // of a shard

struct Settings {
  int ranks = 2;
  std::uint64_t steps = 120;
  std::uint64_t every = 10;  // steps between checkpoints
  std::int64_t shards = 8;
  int pace_ms = 0;
  double below = 0.5;  // the last loss
  std::string pool;
};

// The generator of LibTorch is one for all threads of a process.
std::mutex one_at_a_time;

torch::nn::Sequential make_network() {
  const std::lock_guard lock(one_at_a_time);
  torch::manual_seed(1);
  namespace nn = torch::nn;
  return nn::Sequential(nn::Linear(kFeatures, 32), nn::Tanh(),
                        nn::Linear(32, kClasses));
}

struct Batch {
  torch::Tensor features;
  torch::Tensor labels;
};

// Overlapping clusters.
Batch batch_of(std::uint64_t step, std::int64_t shard) {
  const std::lock_guard lock(one_at_a_time);
  torch::manual_seed(7);
  const auto centres = 0.7 * torch::randn({kClasses, kFeatures});
  torch::manual_seed(1000 + step * 1000 + static_cast<std::uint64_t>(shard));
  auto labels = torch::randint(kClasses, {kBatch}, torch::kLong);
  auto features =
      centres.index_select(0, labels) + torch::randn({kBatch, kFeatures});
  return {std::move(features), std::move(labels)};
}

class Job {
 public:
  Job(Ranks& ranks, const Settings& settings)
      : ranks_(ranks),
        settings_(settings),
        model_(make_network()),
        optimizer_(model_->parameters(), torch::optim::AdamOptions(0.01)) {
    state_.add("model", *model_);
    state_.add("optimizer", optimizer_);
    for (const auto& one : model_->parameters()) size_ += one.numel();
  }

  /// Returns: steps that are done already.
  Result<std::uint64_t> resume() {
    if (settings_.pool.empty()) return std::uint64_t{0};
    if (ranks_.rank() == 0) {
      auto pool = state_.open_pool(settings_.pool);
      if (!pool) return pool.error();
      pool_.emplace(*std::move(pool));
    }
    const auto back = restore_for_all(ranks_, pool_ ? &*pool_ : nullptr);
    if (!back) return back.error();
    if (!*back) return std::uint64_t{0};
    const std::string told = (*back)->restored.passed_over();
    if (!told.empty()) tell_stderr(told);
    if (auto ok = state_.restore((*back)->restored); !ok) return ok.error();
    return (*back)->restored.step;
  }

  Status save(std::uint64_t step) {
    if (!pool_) return {};
    const auto pieces = state_.pieces();
    if (!pieces) return pieces.error();
    const auto saved = pool_->save(*pieces, step);
    if (!saved) return saved.error();
    return {};
  }

  /// Returns: the mean loss over all shards.
  Result<double> step(std::uint64_t number) {
    const auto each = static_cast<std::size_t>(size_ + 1);  // and the loss
    std::vector<float> all(each * static_cast<std::size_t>(settings_.shards));
    for (std::int64_t s = ranks_.rank(); s < settings_.shards;
         s += ranks_.size()) {
      compute(batch_of(number, s),
              std::span(all).subspan(static_cast<std::size_t>(s) * each, each));
    }
    // A sum of one number and zeros: exact in any order.
    if (auto ok = ranks_.sum(all); !ok) return ok.error();
    std::vector<float> mean(each, 0.0F);
    for (std::size_t i = 0; i < all.size(); ++i) mean[i % each] += all[i];
    for (float& one : mean) one /= static_cast<float>(settings_.shards);
    std::size_t at = 0;
    for (auto& one : model_->parameters()) {
      const auto from = torch::from_blob(mean.data() + at, one.sizes());
      one.mutable_grad() = from.clone();
      at += static_cast<std::size_t>(one.numel());
    }
    optimizer_.step();
    return static_cast<double>(mean.back());
  }

 private:
  void compute(const Batch& batch, std::span<float> out) {
    optimizer_.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(
        model_->forward(batch.features), batch.labels);
    loss.backward();
    std::size_t at = 0;
    for (const auto& one : model_->parameters()) {
      const auto flat = one.grad().contiguous();
      const auto count = static_cast<std::size_t>(flat.numel());
      std::copy_n(flat.data_ptr<float>(), count, out.begin() + at);
      at += count;
    }
    out.back() = loss.item<float>();
  }

  Ranks& ranks_;
  const Settings& settings_;
  torch::nn::Sequential model_;
  torch::optim::Adam optimizer_;
  TrainingState state_;
  std::optional<CheckpointPool> pool_;  // rank 0
  std::int64_t size_ = 0;
};

/// Returns: the last loss; nothing when it was asked to end before.
Result<std::optional<double>> train(Ranks& ranks, const Settings& settings) {
  Job job(ranks, settings);
  const auto from = job.resume();
  if (!from) return from.error();
  auto member = Member::join(ranks);
  if (!member) return member.error();
  member->began(*from);
  const bool speaks = ranks.rank() == 0;
  std::printf("run %d: rank %d of %d, pid %d, from step %ju\n", member->run(),
              ranks.rank(), ranks.size(), ::getpid(), *from);
  std::fflush(stdout);
  double loss = 0;
  for (std::uint64_t step = *from; step < settings.steps; ++step) {
    const auto now = job.step(step);
    if (!now) return now.error();
    loss = *now;
    std::this_thread::sleep_for(std::chrono::milliseconds(settings.pace_ms));
    if (speaks) {
      std::printf("step %ju loss %.6f %a\n", step + 1, loss, loss);
      std::fflush(stdout);
    }
    const auto end = member->stepped(step + 1, loss);
    if (!end) return end.error();
    if (*end || (step + 1) % settings.every == 0) {
      if (auto ok = job.save(step + 1); !ok) return ok.error();
      member->saved(step + 1);
    }
    if (!*end) continue;
    member->left();
    return std::optional<double>{};
  }
  member->finished();
  return std::optional(loss);
}

int run(const Settings& settings) {
  torch::set_num_threads(1);
  int failed = 0;
  const auto work = [&](Ranks& ranks) {
    const auto loss = train(ranks, settings);
    if (!loss) {
      std::fprintf(stderr, "elastic_example: rank %d: %s\n", ranks.rank(),
                   loss.error().message.c_str());
      failed = 1;
    } else if (ranks.rank() == 0 && *loss && !(**loss < settings.below)) {
      std::fprintf(stderr, "elastic_example: the last loss, %g, is not < %g\n",
                   **loss, settings.below);
      failed = 1;
    }
  };
  if (auto ok = run_job(settings.ranks, work); !ok) {
    std::fprintf(stderr, "elastic_example: %s\n", ok.error().message.c_str());
    return 1;
  }
  return failed;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  thermocline::Settings settings;
  CLI::App app{
      "Trains a network while workers come, go and die; under `thermocline "
      "job run`, mpirun, or alone."};
  app.add_option("--ranks", settings.ranks, "without mpirun: threads")
      ->check(CLI::Range(1, 64));
  app.add_option("--steps", settings.steps)->check(CLI::Range(1, 1'000'000));
  app.add_option("--every", settings.every, "steps between checkpoints")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--shards", settings.shards, "parts of a step's work")
      ->check(CLI::Range(1, 1024));
  app.add_option("--pace-ms", settings.pace_ms, "a step takes so much longer")
      ->check(CLI::Range(0, 60'000));
  app.add_option("--below", settings.below, "fail if the last loss is not")
      ->check(CLI::Range(0., 100.));
  app.add_option("--pool", settings.pool, "checkpoints; none: not saved");
  CLI11_PARSE(app, argc, argv);
  return thermocline::run(settings);
}
