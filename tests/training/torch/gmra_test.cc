// GMRA against dense linear algebra, cell by cell.
#include "training/gmra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"

namespace thermocline {
namespace {

constexpr std::int64_t kPoints = 400, kWidth = 12;

// A rolled-up sheet in kWidth dimensions, slightly off it.
torch::Tensor sheet() {
  torch::manual_seed(2);
  const auto along = 3 * torch::rand({kPoints}) + 1;
  const auto across = 4 * torch::rand({kPoints});
  const auto turn = 2.5 * along;
  const auto roll =
      torch::stack({along * turn.cos(), across, along * turn.sin()}, 1);
  const auto frame = std::get<0>(torch::linalg_qr(torch::randn({kWidth, 3})));
  return roll.matmul(frame.t()) + 1e-3 * torch::randn({kPoints, kWidth});
}

class GmraTest : public testing::Test {
 protected:
  GmraTest() {
    at::set_num_threads(1);
    store.all().copy_(data);
  }
  torch::Tensor rows(const Cell& cell) const {
    return data.index_select(0, torch::tensor(cell.points)).to(torch::kFloat64);
  }
  const Cell& cell(const Gmra& gmra, std::int64_t i) const {
    return gmra.tree().cells()[static_cast<std::size_t>(i)];
  }
  // Root mean square of what a level's cells miss.
  double miss(const Gmra& gmra, int level) const {
    double sum = 0;
    for (auto i = gmra.tree().begin(level); i < gmra.tree().begin(level + 1);
         ++i) {
      for (const auto point : cell(gmra, i).points) {
        sum += (gmra.project(i, data[point]) - data[point])
                   .pow(2)
                   .sum()
                   .item<double>();
      }
    }
    return std::sqrt(sum / kPoints);
  }
  torch::Tensor data = sheet();
  RowStore store = *RowStore::in_memory(kPoints, kWidth);
};

TEST_F(GmraTest, EachCellIsWhatDenseAlgebraSays) {
  const GmraOptions options{.dimension = 2, .energy = 1};
  const auto gmra = Gmra::build(store, "", options);
  ASSERT_TRUE(gmra) << gmra.error().message;
  const auto& cells = gmra->tree().cells();
  ASSERT_GT(cells.size(), 50u);
  int compared = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const auto here = rows(cells[i]);
    const auto mean = here.mean(0);
    EXPECT_TRUE(torch::allclose(gmra->mean(number).to(torch::kFloat64), mean,
                                1e-5, 1e-5));
    const auto basis = gmra->basis(number).to(torch::kFloat64);
    EXPECT_TRUE(torch::allclose(basis.t().matmul(basis),
                                torch::eye(basis.size(1), torch::kFloat64),
                                1e-4, 1e-4));
    // The leading directions, where there is a gap behind them.
    const auto svd = torch::linalg_svd(here - mean, false);
    const auto values = std::get<1>(svd);
    if (values.size(0) < 3 ||
        values[2].item<double>() > 0.9 * values[1].item<double>()) {
      continue;
    }
    const auto wanted = std::get<2>(svd).slice(0, 0, 2).t();
    EXPECT_TRUE(torch::allclose(basis.matmul(basis.t()),
                                wanted.matmul(wanted.t()), 1e-3, 1e-3))
        << i;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST_F(GmraTest, CoefficientsGiveEveryScaleBack) {
  const auto gmra = Gmra::build(store, "", {.dimension = 3, .energy = 0.999});
  ASSERT_TRUE(gmra);
  for (std::int64_t point = 0; point < kPoints; point += 7) {
    const auto path = gmra->path(point);
    auto coefficients = gmra->transform(point);
    auto wanted = gmra->project(path.back(), data[point]);
    while (!coefficients.empty()) {
      const auto off = gmra->inverse(path, coefficients) - wanted;
      EXPECT_LT(off.abs().max().item<double>(), 1e-3)
          << coefficients.size() << " of " << path.size();
      coefficients.pop_back();
      if (!coefficients.empty()) {
        wanted = gmra->project(path[coefficients.size() - 1], wanted);
      }
    }
    for (std::size_t i = 1; i < path.size(); ++i) {
      EXPECT_LT(gmra->basis(path[i - 1])
                    .t()
                    .matmul(gmra->wavelets(path[i]))
                    .norm()
                    .item<double>(),
                1e-3);
    }
  }
}

TEST_F(GmraTest, FinerScalesMissLess) {
  const auto gmra =
      Gmra::build(store, "", {.smallest = 8, .dimension = 2, .energy = 1});
  ASSERT_TRUE(gmra);
  const int levels = gmra->tree().levels();
  ASSERT_GE(levels, 4);
  EXPECT_GT(miss(*gmra, 0), 0.5);  // three dimensions do not go into two
  for (int level = 1; level < levels; ++level) {
    EXPECT_LE(miss(*gmra, level), miss(*gmra, level - 1)) << level;
  }
  EXPECT_LT(miss(*gmra, levels - 1), 0.1 * miss(*gmra, 0));
}

TEST_F(GmraTest, FromFilesItIsTheSameBitForBit) {
  const PoolFolder folder;
  auto file = RowStore::in_file(folder.path() + "/points", kPoints, kWidth);
  ASSERT_TRUE(file);
  file->all().copy_(data);
  ASSERT_TRUE(file->sync(0, kPoints));
  const auto slow = Gmra::build(*file, folder.path() + "/leaves", {});
  const auto fast = Gmra::build(store, "", {});
  ASSERT_TRUE(slow && fast);
  for (std::int64_t point = 0; point < kPoints; point += 11) {
    const auto path = slow->path(point);
    EXPECT_EQ(path, fast->path(point));
    EXPECT_TRUE(
        torch::equal(slow->basis(path.back()), fast->basis(path.back())));
    EXPECT_TRUE(torch::equal(slow->inverse(path, slow->transform(point)),
                             fast->inverse(path, fast->transform(point))));
  }
  EXPECT_FALSE(Gmra::build(store, "", {.dimension = 0}));
  EXPECT_FALSE(Gmra::build(store, folder.path() + "/leaves", {}));  // exists
}

// A row each: mean, translation, basis, wavelets.
TEST_F(GmraTest, AllOfALeafLiesInTheFile) {
  const PoolFolder folder;
  std::vector<torch::Tensor> leaves;
  {
    const auto gmra = Gmra::build(store, folder.path() + "/leaves", {});
    ASSERT_TRUE(gmra) << gmra.error().message;
    const auto& cells = gmra->tree().cells();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i].children.empty()) continue;
      const auto leaf = static_cast<std::int64_t>(i);
      leaves.push_back(torch::cat(
          {gmra->mean(leaf).unsqueeze(0), gmra->translation(leaf).unsqueeze(0),
           gmra->basis(leaf).t(), gmra->wavelets(leaf).t()}));
    }
  }
  const auto file = RowStore::open(folder.path() + "/leaves");
  ASSERT_TRUE(file) << file.error().message;
  const auto wanted = torch::cat(leaves);
  ASSERT_GT(leaves.size(), 20u);
  EXPECT_TRUE(torch::equal(file->all().slice(0, 0, wanted.size(0)), wanted));
}

TEST_F(GmraTest, ValuesThatAreNearNothingAreRefusedByTheirRow) {
  for (const float value : {NAN, INFINITY, -INFINITY, 2e30F}) {
    store.all().copy_(data);
    store.row(77)[3] = value;
    const auto gmra = Gmra::build(store, "", {});
    ASSERT_FALSE(gmra) << value;
    EXPECT_EQ(gmra.error().code, Error::Code::kInvalid);
    EXPECT_THAT(gmra.error().message, testing::HasSubstr("row 77 of"));
  }
  // Large ones that are not refused: their squares are beyond a float.
  store.all().copy_(1e28 * data);
  const auto gmra = Gmra::build(store, "", {});
  ASSERT_TRUE(gmra) << gmra.error().message;
  for (std::int64_t point = 0; point < kPoints; point += 11) {
    const auto back =
        gmra->inverse(gmra->path(point), gmra->transform(point)) / 1e28;
    EXPECT_LT((back - data[point]).norm().item<double>(), 1);
  }
}

}  // namespace
}  // namespace thermocline
