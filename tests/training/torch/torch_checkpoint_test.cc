// A LibTorch job's state: every optimizer, every part of it, back in place.
#include "training/torch_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"
#include "training/background_saver.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
namespace nn = torch::nn;
namespace optim = torch::optim;

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(
    std::vector<torch::Tensor>)>;

struct Job {
  // `ballast`: elements of a parameter that is saved before the others, and
  // takes that long to copy.
  explicit Job(const MakeOptimizer& make, std::int64_t width = 6,
               std::int64_t ballast = 0)
      : model(nn::Linear(4, width), nn::BatchNorm1d(width), nn::Dropout(0.3),
              nn::Linear(width, 1)),
        weight(torch::ones({ballast}).requires_grad_()) {
    auto params = model->parameters();
    if (ballast > 0) {
      params.push_back(weight);
      state.add("ballast", weight);
    }
    optimizer = make(std::move(params));
    state.add("model", *model);
    state.add("optimizer", *optimizer);
    state.add("order", order);
    state.add("count", count);
    state.add("best", best);
    state.add("extra", extra);
    state.add_rng("rng");
  }
  double step() {
    const auto rows = order.next(8).size();
    const auto in = torch::randn({static_cast<std::int64_t>(rows), 4});
    optimizer->zero_grad();
    const auto loss = (model->forward(in) - in.sum(1, true)).pow(2).mean();
    loss.backward();
    // As a part of a network that is not used at first.
    if (count >= 5) weight.mutable_grad() = torch::ones_like(weight);
    before_update();
    optimizer->step();
    ++count;
    best = std::min(best, loss.item<double>());
    extra = torch::full({count % 3 + 1}, best);
    return loss.item<double>();
  }
  nn::Sequential model;
  torch::Tensor weight;
  std::unique_ptr<optim::Optimizer> optimizer;
  DataOrder order{20, 5};
  std::int64_t count = 0;
  double best = 1e9;
  torch::Tensor extra;  // undefined before the first step
  TrainingState state;
  std::function<void()> before_update = [] {};
};

template <typename Kind, typename Options>
MakeOptimizer maker(Options options) {
  return [options](std::vector<torch::Tensor> params) {
    return std::make_unique<Kind>(std::move(params), options);
  };
}

std::vector<std::pair<const char*, MakeOptimizer>> optimizers() {
  return {
      {"sgd", maker<optim::SGD>(optim::SGDOptions(0.01))},
      {"momentum", maker<optim::SGD>(optim::SGDOptions(0.01).momentum(0.9))},
      {"adam", maker<optim::Adam>(optim::AdamOptions(0.01))},
      {"amsgrad", maker<optim::Adam>(optim::AdamOptions(0.01).amsgrad(true))},
      {"adamw", maker<optim::AdamW>(optim::AdamWOptions(0.01))},
      {"rmsprop",
       maker<optim::RMSprop>(
           optim::RMSpropOptions(0.01).momentum(0.5).centered(true))},
      {"adagrad", maker<optim::Adagrad>(optim::AdagradOptions(0.01))},
  };
}

TEST(TorchCheckpoint, EveryOptimizerGoesOnBitForBit) {
  at::set_num_threads(1);
  for (const auto& [name, make] : optimizers()) {
    const PoolFolder folder;
    torch::manual_seed(1);
    Job job(make, 6, 3);
    auto pool = job.state.open_pool(folder.path() + "/pool");
    ASSERT_TRUE(pool) << pool.error().message;
    EXPECT_FALSE(job.state.resume(*pool)->has_value());
    for (int i = 0; i < 5; ++i) job.step();
    ASSERT_TRUE(pool->save(*job.state.pieces(), 5)) << name;
    std::vector<double> losses;
    for (int i = 0; i < 5; ++i) losses.push_back(job.step());

    torch::manual_seed(99);
    Job other(make, 6, 3);
    const auto step = other.state.resume(*pool);
    ASSERT_TRUE(step) << name << ": " << step.error().message;
    EXPECT_EQ(*step, 5);
    EXPECT_EQ(other.count, 5);
    for (const double loss : losses) EXPECT_EQ(other.step(), loss) << name;
    EXPECT_EQ(other.best, job.best);
    EXPECT_TRUE(torch::equal(other.weight, job.weight)) << name;
    EXPECT_FALSE(torch::equal(other.weight, torch::ones({3}))) << name;
  }
}

std::vector<torch::Tensor> all_of(Job& job) {
  std::vector<torch::Tensor> out;
  const auto pieces = job.state.pieces();
  for (const Piece& piece : *pieces) out.push_back(*tensor_of(piece));
  return out;
}

// The ballast is still being copied when the next step has long written all
// else. Copied beside the next step's forward and backward, and resumed from:
// batch norm's statistics, the generator and the data's order must be of the
// instant of the save, not of when the copy got to them.
TEST(TorchCheckpoint, WhatIsCopiedBesideTheTrainingGoesOnBitForBit) {
  constexpr std::int64_t kBallast = 1 << 20;
  at::set_num_threads(1);
  for (const auto& [name, make] : optimizers()) {
    const PoolFolder folder;
    torch::manual_seed(1);
    Job job(make, 6, kBallast);
    job.step();
    auto pool = job.state.open_pool(folder.path() + "/pool");
    ASSERT_TRUE(pool);
    BackgroundSaver saver(*pool, 1);
    job.before_update = [&] { saver.before_update(); };
    for (std::uint64_t step = 1; step <= 4; ++step) {
      ASSERT_TRUE(saver.begin_beside(*job.state.live(), step)) << name;
      std::vector<double> losses;
      for (int i = 0; i < 3; ++i) losses.push_back(job.step());
      const auto after = all_of(job);
      ASSERT_TRUE(saver.wait()) << name;
      torch::manual_seed(99);
      Job alone(make, 6, kBallast);
      const auto resumed = alone.state.resume(*pool);
      ASSERT_TRUE(resumed) << name << ": " << resumed.error().message;
      ASSERT_EQ(*resumed, step) << name;
      for (const double loss : losses) EXPECT_EQ(alone.step(), loss) << name;
      const auto there = all_of(alone);
      ASSERT_EQ(after.size(), there.size());
      for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_TRUE(torch::equal(after[i], there[i])) << name << ", " << i;
      }
    }
  }
}

TEST(TorchCheckpoint, SteadyIsWhatAnOptimizerOwnsAndItsWritesAreSeen) {
  Job job(maker<optim::Adam>(optim::AdamOptions(0.01)));
  nn::Linear average(4, 6);  // a module that no optimizer has
  job.state.add("average", *average);
  job.step();
  const auto live = job.state.live();
  ASSERT_TRUE(live);
  std::vector<std::string> steady;
  for (const Piece& piece : live->pieces) {
    if (piece.steady) steady.push_back(piece.name);
  }
  EXPECT_THAT(steady, testing::IsSupersetOf(
                          {"model.0.weight", "model.1.bias", "model.3.bias",
                           "optimizer.state.0.0.exp_avg",
                           "optimizer.state.0.3.exp_avg_sq"}));
  EXPECT_THAT(steady, testing::Each(testing::Not(testing::AnyOf(
                          HasSubstr("running"), HasSubstr("tracked"),
                          HasSubstr("average."), HasSubstr("options"),
                          HasSubstr("extra"), "rng", "order", "count"))));
  // A forward and a backward write nothing that is steady.
  const auto loss = job.model->forward(torch::randn({8, 4})).sum();
  loss.backward();
  {
    const torch::NoGradGuard no_grad;
    average->weight.zero_();
  }
  EXPECT_TRUE(live->unchanged());
  job.optimizer->step();
  const auto seen = live->unchanged();
  ASSERT_FALSE(seen);
  EXPECT_THAT(seen.error().message,
              HasSubstr("\"model.0.weight\" was written"));
}

TEST(TorchCheckpoint, AChangedLearningRateComesBack) {
  const PoolFolder folder;
  const auto make = maker<optim::Adam>(optim::AdamOptions(0.01));
  Job job(make), other(make);
  const auto rate = [](Job& of) -> double& {
    return static_cast<optim::AdamOptions&>(
               of.optimizer->param_groups()[0].options())
        .lr();
  };
  rate(job) = 0.125;
  auto pool = job.state.open_pool(folder.path() + "/pool");
  ASSERT_TRUE(pool && pool->save(*job.state.pieces(), 0));
  ASSERT_TRUE(other.state.resume(*pool));
  EXPECT_EQ(rate(other), 0.125);
}

TEST(TorchCheckpoint, AnotherJobsCheckpointIsRefusedAndNothingChanges) {
  const PoolFolder folder;
  const auto make = maker<optim::SGD>(optim::SGDOptions(0.01));
  Job job(make), wider(make, 7);
  auto pool = job.state.open_pool(folder.path() + "/pool");
  ASSERT_TRUE(pool && pool->save(*job.state.pieces(), 3));
  const auto before = wider.model->parameters()[0].clone();
  const auto refused = wider.state.resume(*pool);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("another job: \"model.0.weight\""));
  EXPECT_TRUE(torch::equal(before, wider.model->parameters()[0]));
}

TEST(TorchCheckpoint, DamageThatIsPassedOverIsTold) {
  const PoolFolder folder;
  const std::string path = folder.path() + "/pool";
  torch::Tensor weight = torch::ones({1000});
  TrainingState state;
  state.add("weight", weight);
  auto pool = state.open_pool(path);
  ASSERT_TRUE(pool && pool->save(*state.pieces(), 1));
  std::vector<std::string> told;
  const auto tell = [&](const std::string& line) { told.push_back(line); };
  ASSERT_EQ(**state.resume(*pool, tell), 1);
  EXPECT_TRUE(told.empty());

  weight.fill_(2);
  ASSERT_TRUE(pool->save(*state.pieces(), 2));
  const Bytes payload =
      pool->superblock().slot_offset(pool->list()[0].slot) + kPoolPage;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(payload) + 40);
  ASSERT_TRUE(file.put(1).flush());
  ASSERT_EQ(**state.resume(*pool, tell), 1);
  EXPECT_TRUE(torch::equal(weight, torch::ones({1000})));
  EXPECT_THAT(told,
              testing::ElementsAre(AllOf(HasSubstr("\"weight\" is damaged"),
                                         HasSubstr("step 1 is the newest"))));
  testing::internal::CaptureStderr();
  ASSERT_TRUE(state.resume(*pool));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "thermocline: " + told[0] + "\n");
}

TEST(TorchCheckpoint, LbfgsIsRefused) {
  Job job([](std::vector<torch::Tensor> params) {
    return std::make_unique<optim::LBFGS>(std::move(params));
  });
  EXPECT_THAT(job.state.pieces().error().message, HasSubstr("or Adagrad"));
}

TEST(TorchCheckpoint, TensorsOfEveryTypeAndLayout) {
  const PoolFolder folder;
  std::vector<torch::Tensor> all{
      torch::randn({3, 4}).t(),  // not contiguous
      torch::arange(5), torch::tensor({true, false}), torch::scalar_tensor(2.5),
      torch::empty({0, 3}), torch::randn({3}).to(torch::kBFloat16),
      torch::randn({2}, torch::kComplexFloat),
      // Negated and conjugated when they are read.
      torch::_neg_view(torch::ones({3})),
      torch::randn({2}, torch::kComplexFloat).conj()};
  std::vector<torch::Tensor> wanted, back(all.size());
  for (const auto& one : all) wanted.push_back(one.clone());
  TrainingState state, other;
  for (std::size_t i = 0; i < all.size(); ++i) {
    state.add(std::to_string(i), all[i]);
    other.add(std::to_string(i), back[i]);
  }
  auto pool = state.open_pool(folder.path() + "/pool");
  ASSERT_TRUE(pool && pool->save(*state.pieces(), 1));
  for (auto& one : all) one.zero_();
  ASSERT_TRUE(state.resume(*pool));
  ASSERT_TRUE(other.resume(*pool));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(torch::equal(all[i], wanted[i])) << i;
    EXPECT_TRUE(torch::equal(back[i], wanted[i])) << i;
  }
}

TEST(TorchCheckpoint, TensorsThatAreNoPlainArraysAreRefusedByName) {
  const PoolFolder folder;
  torch::Tensor dense = torch::eye(3);
  TrainingState plain;
  plain.add("it", dense);
  auto pool = plain.open_pool(folder.path() + "/pool");
  ASSERT_TRUE(pool && pool->save(*plain.pieces(), 1));
  const std::vector<std::pair<const char*, torch::Tensor>> all{
      {"sparse", torch::eye(3).to_sparse()},
      {"sparse", torch::eye(3).to_sparse_csr()},
      {"sparse", torch::eye(3).to_mkldnn()},
      {"quantized",
       torch::quantize_per_tensor(torch::eye(3), 0.1, 0, torch::kQInt8)},
      {"without memory", torch::empty({3, 3}, torch::kMeta)},
      {"nested", torch::nested::as_nested_tensor({torch::eye(3)})},
      {"convert it", torch::zeros({3, 3}, torch::kComplexHalf)}};
  for (const auto& [why, tensor] : all) {
    torch::Tensor it = tensor;
    TrainingState state;
    state.add("it", it);
    const auto expect = [&](const Status& refused) {
      ASSERT_FALSE(refused) << why;
      EXPECT_EQ(refused.error().code, Error::Code::kUnsupported);
      EXPECT_THAT(refused.error().message,
                  AllOf(HasSubstr("\"it\" is "), HasSubstr(why)));
    };
    const auto pieces = state.pieces();
    ASSERT_FALSE(pieces) << why;
    expect(pieces.error());
    expect(state.open_pool(folder.path() + "/other").error());
    expect(state.resume(*pool).error());
    // Nor as what an optimizer is over.
    if (it.is_quantized() || it.is_complex()) continue;
    optim::SGD optimizer({it}, optim::SGDOptions(0.1));
    TrainingState other;
    other.add("optimizer", optimizer);
    const auto live = other.live();
    ASSERT_FALSE(live) << why;
    EXPECT_THAT(live.error().message,
                HasSubstr("\"optimizer's parameter\" is"));
  }
}

}  // namespace
}  // namespace thermocline
