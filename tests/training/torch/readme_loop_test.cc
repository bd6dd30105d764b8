// The loop of training/README.md, as it stands there: it saves again and again,
// and goes on from what it saved bit for bit.
#include <gtest/gtest.h>

#include <chrono>
#include <utility>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"
#include "training/background_saver.h"
#include "training/checkpoint_interval.h"
#include "training/torch_checkpoint.h"

namespace thermocline {
namespace {

// A job that has nothing but the loop. Its data comes from the order and the
// generator, so that both must come back.
struct LoopJob {
  torch::nn::Sequential model{torch::nn::Linear(4, 8),
                              torch::nn::BatchNorm1d(8),
                              torch::nn::Dropout(0.3), torch::nn::Linear(8, 1)};
  torch::optim::Adam optimizer{model->parameters(), 0.01};
  DataOrder order{100, 7};
  std::vector<double> losses;

  // `each`: called in each iteration, before the update.
  Status train(const std::string& path, const IntervalOptions& options,
               std::uint64_t& steps, const std::function<void()>& each) {
    const auto forward_and_backward = [&] {
      const auto rows = static_cast<std::int64_t>(order.next(8).size());
      const auto in = torch::randn({rows, 4});
      optimizer.zero_grad();
      auto loss = (model->forward(in) - in.sum(1, true)).pow(2).mean();
      loss.backward();
      losses.push_back(loss.item<double>());
      each();
    };
#include "loop.inc"
    return {};
  }
};

std::uint64_t saves_in(const std::string& path) {
  const auto pool = CheckpointPool::open_to_read(path);
  if (!pool) return 0;
  const auto all = pool->list();
  return all.empty() ? 0 : all[0].contents.header.sequence;
}

TEST(ReadmeLoop, SavesAgainAndAgainAndGoesOnBitForBit) {
  constexpr std::uint64_t kWanted = 3, kMost = 200'000;
  at::set_num_threads(1);
  const PoolFolder folder;
  const std::string path = folder.path() + "/pool";
  torch::manual_seed(1);
  LoopJob first;
  std::uint64_t steps = kMost, seen = 0;
  const auto ended = first.train(path, {.profile = 5}, steps, [&] {
    if (++seen % 50 == 0 && saves_in(path) >= kWanted) steps = seen + 10;
  });
  ASSERT_TRUE(ended) << ended.error().message;
  ASSERT_LT(seen, kMost) << "it saved " << saves_in(path) << " times";

  const std::uint64_t more = steps + 20;
  std::uint64_t end = more;
  torch::manual_seed(99);
  LoopJob second;
  const auto again = second.train(path, {}, end, [] {});
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_LT(second.losses.size(), more);

  torch::manual_seed(1);
  LoopJob whole;  // its profile is longer than it lives: it never saves
  const auto alone =
      whole.train(folder.path() + "/other", {.profile = 10'000}, end, [] {});
  ASSERT_TRUE(alone) << alone.error().message;
  ASSERT_EQ(whole.losses.size(), more);
  whole.losses.erase(
      whole.losses.begin(),
      whole.losses.end() - static_cast<std::ptrdiff_t>(second.losses.size()));
  EXPECT_EQ(second.losses, whole.losses);
}

}  // namespace
}  // namespace thermocline
