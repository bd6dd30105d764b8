// An optimizer's state goes back into one that is laid out alike, or nowhere.
#include "training/torch_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
namespace optim = torch::optim;

class OptimizerLayout : public testing::Test {
 protected:
  using Groups = std::vector<std::vector<std::size_t>>;

  OptimizerLayout() {
    for (auto& param : params) {
      param.requires_grad_().mutable_grad() = torch::ones_like(param);
    }
    saved = make<optim::Adam>({{0, 1}, {2}});
    saved->step();
    TrainingState state;
    state.add("opt", *saved);
    pool.emplace(*state.open_pool(folder.path() + "/pool"));
    CHECK(pool->save(*state.pieces(), 1));
  }
  template <typename Kind>
  std::unique_ptr<optim::Optimizer> make(const Groups& groups) const {
    std::vector<optim::OptimizerParamGroup> all;
    for (const auto& group : groups) {
      std::vector<torch::Tensor> of;
      for (const auto i : group) of.push_back(params[i]);
      all.emplace_back(of);
    }
    return std::make_unique<Kind>(all);
  }
  // What is said of the checkpoint, as it is or as older ones were; "": it went
  // into `optimizer`.
  std::string said(optim::Optimizer& optimizer, bool old = false) {
    auto from = *pool->restore();
    if (old) {
      EXPECT_EQ(std::erase_if(from.pieces,
                              [](const Piece& piece) {
                                return piece.name == "opt.layout";
                              }),
                1u);
    }
    TrainingState state;
    state.add("opt", optimizer);
    const auto ok = state.restore(from);
    EXPECT_EQ(optimizer.state().empty(), !ok);
    return ok ? "" : ok.error().message;
  }
  template <typename Kind>
  std::string said_to(const Groups& groups, bool old = false) {
    return said(*make<Kind>(groups), old);
  }

  std::vector<torch::Tensor> params{torch::ones({2, 3}), torch::ones({4}),
                                    torch::ones({5}), torch::ones({6})};
  std::unique_ptr<optim::Optimizer> saved;
  PoolFolder folder;
  std::optional<CheckpointPool> pool;
};

TEST_F(OptimizerLayout, TheSameIsRestoredAlsoFromOlderCheckpoints) {
  for (const bool old : {false, true}) {
    const auto other = make<optim::Adam>({{0, 1}, {2}});
    ASSERT_EQ(said(*other, old), "");
    OptimizerVisitor visitor;
    std::vector<torch::Tensor> parts;
    visitor.tensor = [&](const std::string&, torch::Tensor& part) {
      if (part.defined()) parts.push_back(part);
    };
    visitor.number = [](const std::string&, std::int64_t& steps) {
      EXPECT_EQ(steps, 1);
    };
    ASSERT_TRUE(visit_state(*saved, create_none, visitor));
    ASSERT_TRUE(visit_state(*other, create_none, visitor));
    ASSERT_EQ(parts.size(), 12u);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_TRUE(torch::equal(parts[i], parts[i + 6]));
    }
  }
}

TEST_F(OptimizerLayout, AnotherIsRefusedAndNothingChanges) {
  const std::string was = "\"opt\" was Adam over 2 + 1 parameters, and is ";
  EXPECT_THAT(said_to<optim::Adam>({{0, 1, 2}}),
              HasSubstr(was + "Adam over 3 parameters;"));
  EXPECT_THAT(said_to<optim::Adam>({{0, 1}, {2}, {3}}),
              HasSubstr(was + "Adam over 2 + 1 + 1 parameters;"));
  EXPECT_THAT(said_to<optim::Adam>({{0}, {2}}),
              HasSubstr(was + "Adam over 1 + 1 parameters;"));
  EXPECT_THAT(said_to<optim::AdamW>({{0, 1}, {2}}),
              HasSubstr(was + "AdamW over 2 + 1 parameters;"));
  EXPECT_THAT(said_to<optim::Adam>({{1, 0}, {2}}),
              HasSubstr("\"opt.state.0.0.exp_avg\" has another shape"));
}

TEST_F(OptimizerLayout, OlderCheckpointsAreRefusedForWhatTheirPartsTell) {
  const std::string nothing = "is nothing that the optimizer keeps";
  EXPECT_THAT(said_to<optim::Adam>({{0, 1, 2}}, true),
              HasSubstr("\"opt.state.1.0.exp_avg\" " + nothing));
  EXPECT_THAT(said_to<optim::Adam>({{0}, {2}}, true),
              HasSubstr("\"opt.state.0.1.exp_avg\" " + nothing));
  EXPECT_THAT(said_to<optim::RMSprop>({{0, 1}, {2}}, true),
              HasSubstr("\"opt.state.0.0.exp_avg\" " + nothing));
  EXPECT_THAT(said_to<optim::Adam>({{1, 0}, {2}}, true),
              HasSubstr("\"opt.state.0.0.exp_avg\" has another shape"));
  EXPECT_THAT(said_to<optim::Adam>({{0, 1}, {2}, {3}}, true),
              HasSubstr("or of fewer groups"));
}

// By a resume, which copies as it checks, too.
TEST_F(OptimizerLayout, AResumeIsRefusedBeforeAnythingIsCopied) {
  auto weight = torch::full({3}, 7.0);
  TrainingState state;
  state.add("opt", *saved);
  state.add("weight", weight);
  ASSERT_TRUE(pool->save(*state.pieces(), 2));
  weight.fill_(8);
  TrainingState other;
  const auto wider = make<optim::Adam>({{0, 1, 2}});
  other.add("opt", *wider);
  other.add("weight", weight);
  const auto refused = other.resume(*pool);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kInvalid);
  EXPECT_TRUE(torch::equal(weight, torch::full({3}, 8.0)));
}

}  // namespace
}  // namespace thermocline
