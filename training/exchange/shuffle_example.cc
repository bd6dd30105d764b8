// shuffle_example: trains on shards that are sorted by label, the worst case
// for a job that does not shuffle, and shows what a small exchange is worth.
//
// Data-parallel: each rank's gradient is of its own batch, and all are summed,
// so the sum is the same whoever holds a sample. What suffers is what a rank
// computes from its batch alone: batch normalisation sees one class at a time.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <random>

#include "training/exchange/torch_data.h"
#include "training/ranks/job.h"

namespace thermocline {
namespace {

constexpr std::int64_t kFeatures = 20;
constexpr int kHeldOut = 1000;

struct Settings {
  int ranks = 4;
  int epochs = 30;
  std::int64_t samples = 4000;  // of the whole job
  std::int64_t classes = 8;
  std::int64_t batch = 16;
  int seeds = 1;
  std::vector<double> fractions{0, 0.02, 0.05, 0.1, 0.3, 1};
  bool check = false;
};

// Clusters that overlap; sample i of n has the label i * classes / n, or one
// drawn, for the test set.
std::vector<StoredSample> clusters(const Settings& settings, std::int64_t from,
                                   std::int64_t to, std::uint64_t stream,
                                   bool sorted) {
  std::mt19937_64 centre_rng(7);
  std::normal_distribution<float> normal;
  std::vector<float> centres;
  for (std::int64_t i = 0; i < settings.classes * kFeatures; ++i) {
    centres.push_back(0.8F * normal(centre_rng));
  }
  std::vector<StoredSample> out;
  for (std::int64_t i = from; i < to; ++i) {
    std::mt19937_64 rng(stream * 1'000'003 + static_cast<std::uint64_t>(i));
    const auto drawn = static_cast<std::int64_t>(
        rng() % static_cast<std::uint64_t>(settings.classes));
    const std::int64_t label =
        sorted ? i * settings.classes / settings.samples : drawn;
    std::vector<float> features;
    normal.reset();
    for (std::int64_t k = 0; k < kFeatures; ++k) {
      features.push_back(
          centres[static_cast<std::size_t>(label * kFeatures + k)] +
          1.3F * normal(rng));
    }
    out.push_back(torch_sample(static_cast<std::uint64_t>(i), features, label));
  }
  return out;
}

// The same on all ranks, which may be threads with one generator for all.
torch::nn::Sequential network(const Settings& settings, int seed) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  torch::manual_seed(static_cast<std::uint64_t>(seed));
  namespace nn = torch::nn;
  return nn::Sequential(nn::Linear(kFeatures, 48), nn::BatchNorm1d(48),
                        nn::ReLU(), nn::Linear(48, settings.classes));
}

// The mean over all ranks, in place.
Status average(Ranks& ranks, torch::Tensor tensor) {
  auto flat = tensor.contiguous();
  const auto size = static_cast<std::size_t>(flat.numel());
  auto summed = ranks.sum({flat.data_ptr<float>(), size});
  tensor.copy_(flat / ranks.size());
  return summed;
}

double accuracy(torch::nn::Sequential& model, const Settings& settings,
                Ranks& ranks) {
  torch::NoGradGuard no_grad;
  const auto held = clusters(settings, 0, kHeldOut, 99, false);
  auto alone = SampleExchange::make(ranks, held, {0.0});
  if (!alone) return 0;
  ExchangeDataset test(*alone);
  std::vector<torch::Tensor> features;
  std::vector<torch::Tensor> labels;
  for (std::size_t i = 0; i < held.size(); ++i) {
    auto one = test.get(i);
    features.push_back(one.data);
    labels.push_back(one.target);
  }
  model->eval();
  const auto guess = model->forward(torch::stack(features)).argmax(1);
  model->train();
  return guess.eq(torch::stack(labels)).to(torch::kFloat).mean().item<double>();
}

struct Outcome {
  double accuracy = 0;
  double bytes_an_epoch = 0;  // of one rank
  ExchangeStats stats;
};

Result<Outcome> train(Ranks& ranks, const Settings& settings, double fraction,
                      int seed) {
  const std::int64_t share = settings.samples / ranks.size();
  auto exchange =
      SampleExchange::make(ranks,
                           clusters(settings, share * ranks.rank(),
                                    share * (ranks.rank() + 1), 1, true),
                           {fraction, seed});
  if (!exchange) return exchange.error();
  auto model = network(settings, seed);
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9));
  Outcome out;
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    exchange->begin(static_cast<std::uint64_t>(epoch));
    auto loader = torch::data::make_data_loader(
        ExchangeDataset(*exchange).map(torch::data::transforms::Stack<>()),
        ExchangeSampler(*exchange),
        torch::data::DataLoaderOptions(static_cast<std::size_t>(settings.batch))
            .drop_last(true));
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      auto loss = torch::nn::functional::cross_entropy(
          model->forward(batch.data), batch.target.reshape({-1}));
      loss.backward();
      for (auto& parameter : model->parameters()) {
        if (auto ok = average(ranks, parameter.grad()); !ok) return ok.error();
      }
      optimizer.step();
    }
    if (auto ok = exchange->finish(); !ok) return ok.error();
  }
  for (auto& buffer : model->buffers()) {
    if (buffer.scalar_type() != torch::kFloat) continue;
    if (auto ok = average(ranks, buffer); !ok) return ok.error();
  }
  out.accuracy = accuracy(model, settings, ranks);
  out.stats = exchange->stats();
  out.bytes_an_epoch =
      static_cast<double>(out.stats.sent_bytes) / settings.epochs;
  return out;
}

// Of one fraction, over the seeds.
struct Row {
  double accuracy = 0;
  double variance = 0;  // of the mean
  Outcome last;
};

Result<Row> train_seeds(Ranks& ranks, const Settings& settings,
                        double fraction) {
  Row out;
  double squares = 0;
  for (int seed = 1; seed <= settings.seeds; ++seed) {
    const auto one = train(ranks, settings, fraction, seed);
    if (!one) return one.error();
    out.last = *one;
    out.accuracy += one->accuracy;
    squares += one->accuracy * one->accuracy;
  }
  const double n = settings.seeds;
  out.accuracy /= n;
  // Of one run, all that is known is how many were held out.
  out.variance =
      n > 1 ? std::max(0.0, squares / n - out.accuracy * out.accuracy) / (n - 1)
            : out.accuracy * (1 - out.accuracy) / kHeldOut;
  return out;
}

void print(double fraction, const Row& row) {
  std::printf("%9.2f %8.1f%% %6.1f%% %14.0f %12lld %11.3f\n", fraction,
              100 * row.accuracy, 100 * std::sqrt(row.variance),
              row.last.bytes_an_epoch,
              static_cast<long long>(row.last.stats.store_bytes +
                                     row.last.stats.landing_bytes),
              row.last.stats.exposed_seconds);
  std::fflush(stdout);
}

// First: no exchange; last: all of it; before it: what must do as well.
bool holds(const std::vector<Row>& rows, std::size_t little) {
  const Row& none = rows.front();
  const Row& global = rows.back();
  const Row& some = rows[little];
  const double noise = 2 * std::sqrt(some.variance + global.variance);
  const bool worse = none.accuracy < global.accuracy - 0.05;
  const bool recovers = some.accuracy > global.accuracy - noise;
  const double bytes = some.last.bytes_an_epoch / global.last.bytes_an_epoch;
  std::printf(
      "without exchange visibly worse: %s; a tenth recovers (to %.1f points, "
      "noise %.1f): %s; with %.3f of the bytes: %s\n",
      worse ? "yes" : "NO", 100 * (some.accuracy - global.accuracy),
      100 * noise, recovers ? "yes" : "NO", bytes,
      bytes <= 0.11 ? "yes" : "NO");
  return worse && recovers && bytes <= 0.11;
}

Status compare(Ranks& ranks, const Settings& settings, bool& good) {
  const bool speaks = ranks.rank() == 0;
  if (speaks) {
    std::printf(
        "%lld samples sorted by label, %d ranks, %d epochs, %d seeds\n"
        "%9s %9s %7s %14s %12s %11s\n",
        static_cast<long long>(settings.samples), ranks.size(), settings.epochs,
        settings.seeds, "fraction", "accuracy", "+-", "sent B/epoch",
        "stored B", "exposed s");
  }
  std::vector<Row> rows;
  std::size_t tenth = 0;
  for (const double fraction : settings.fractions) {
    const auto row = train_seeds(ranks, settings, fraction);
    if (!row) return row.error();
    if (fraction == 0.1) tenth = rows.size();
    rows.push_back(*row);
    if (speaks) print(fraction, *row);
  }
  if (!speaks) return {};
  std::printf("a copy of all on each rank: %lld B\n",
              static_cast<long long>(rows.front().last.stats.store_bytes *
                                     ranks.size()));
  if (settings.check) good = holds(rows, tenth);
  return {};
}

int run(const Settings& settings) {
  bool good = true;
  torch::set_num_threads(1);
  const auto work = [&](Ranks& ranks) {
    const auto ok = compare(ranks, settings, good);
    if (ok) return;
    std::fprintf(stderr, "shuffle_example: rank %d: %s\n", ranks.rank(),
                 ok.error().message.c_str());
    if (ranks.rank() == 0) good = false;
  };
  if (auto ok = run_job(settings.ranks, work); !ok) {
    std::fprintf(stderr, "shuffle_example: %s\n", ok.error().message.c_str());
    return 1;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  thermocline::Settings settings;
  CLI::App app{"Partial exchange on shards that are sorted by label."};
  app.add_option("--ranks", settings.ranks, "ranks without mpirun")
      ->check(CLI::Range(1, 64));
  app.add_option("--epochs", settings.epochs)->check(CLI::Range(1, 10000));
  app.add_option("--samples", settings.samples)
      ->check(CLI::Range(1000, 10'000'000));
  app.add_option("--seeds", settings.seeds, "to average over")
      ->check(CLI::Range(1, 100));
  app.add_option("--fractions", settings.fractions)->check(CLI::Range(0., 1.));
  app.add_flag("--check", settings.check,
               "fail unless 0 does worse than 1, and 0.1 as well as 1");
  CLI11_PARSE(app, argc, argv);
  if (settings.check) settings.fractions = {0, 0.1, 1};
  return thermocline::run(settings);
}
