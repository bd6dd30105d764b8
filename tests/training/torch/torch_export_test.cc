// Exported checkpoints, as LibTorch and Python load them.
#include "training/torch_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
namespace nn = torch::nn;

class TorchExport : public testing::Test {
 protected:
  TorchExport() {
    nn::BatchNorm1d norm(6);
    norm->forward(torch::randn({9, 6}));  // buffers that are not as new
    model = nn::Sequential(nn::Linear(4, 6), norm);
    state.add("model", *model);
    state.add("half", half);
    state.add("count", count);
    auto made = state.open_pool(folder.path() + "/pool");
    CHECK(made && made->save(*state.pieces(), 12));
    pool.emplace(*std::move(made));
  }
  Result<std::size_t> write(const ExportOptions& options) {
    return export_tensors(*pool->restore(), file(), options);
  }
  std::string file() const { return folder.path() + "/out.pt"; }
  int shell(const std::string& command) const {
    return std::system((command + " >" + folder.path() + "/said 2>&1").c_str());
  }
  std::string said() const {
    std::ifstream text(folder.path() + "/said");
    return {std::istreambuf_iterator<char>(text), {}};
  }

  PoolFolder folder;
  nn::Sequential model{nullptr};
  torch::Tensor half = torch::randn({3, 2}).to(torch::kBFloat16);
  std::int64_t count = 77;
  TrainingState state;
  std::optional<CheckpointPool> pool;
};

TEST_F(TorchExport, AModuleLoadsIntoItsLike) {
  const auto written =
      write({.format = ExportFormat::kModule, .prefix = "model."});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, 7u);
  nn::Sequential other(nn::Linear(4, 6), nn::BatchNorm1d(6));
  torch::load(other, file());
  for (const auto& item : model->named_parameters()) {
    EXPECT_TRUE(
        torch::equal(item.value(), other->named_parameters()[item.key()]))
        << item.key();
  }
  for (const auto& item : model->named_buffers()) {
    EXPECT_TRUE(torch::equal(item.value(), other->named_buffers()[item.key()]))
        << item.key();
  }
}

TEST_F(TorchExport, ADictHasAllByName) {
  ASSERT_TRUE(write({}));
  std::ifstream in(file(), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const auto read = torch::pickle_load(bytes).toGenericDict();
  EXPECT_EQ(read.size(), 9u);
  EXPECT_TRUE(torch::equal(read.at("model.0.weight").toTensor(),
                           model->named_parameters()["0.weight"]));
  EXPECT_TRUE(torch::equal(read.at("half").toTensor(), half));
}

TEST_F(TorchExport, TellsHowFarItIsAndStopsWithNothingLeft) {
  for (const auto format : {ExportFormat::kDict, ExportFormat::kModule}) {
    ExportOptions options{.format = format, .prefix = "model."};
    std::vector<Bytes> done;
    Bytes all = 0;
    options.watch = [&](Bytes now, Bytes of) {
      EXPECT_LE(now, of);
      done.push_back(now);
      all = of;
      return done.size() < 3;
    };
    const auto written = write(options);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Error::Code::kInterrupted);
    EXPECT_THAT(written.error().message, HasSubstr(file()));
    EXPECT_EQ(done.size(), 3u);  // what comes after is not even looked at
    EXPECT_FALSE(std::filesystem::exists(file()));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                            std::filesystem::directory_iterator{}),
              1);  // the pool
    options.watch = [&](Bytes now, Bytes) {
      done.push_back(now);
      return true;
    };
    ASSERT_TRUE(write(options));
    EXPECT_TRUE(std::ranges::is_sorted(done.begin() + 3, done.end()));
    EXPECT_EQ(done.back(), all);
    std::filesystem::remove(file());
  }
}

TEST_F(TorchExport, RefusesWhatItCannotDo) {
  EXPECT_THAT(write({.prefix = "nonsense"}).error().message,
              HasSubstr("begins with \"nonsense\""));
  torch::Tensor one = torch::ones({1}), two = torch::ones({2});
  TrainingState both;
  both.add("a", one);
  both.add("a.b", two);
  auto other = both.open_pool(folder.path() + "/both");
  ASSERT_TRUE(other && other->save(*both.pieces(), 1));
  const auto no = export_tensors(*other->restore(), file(),
                                 {.format = ExportFormat::kModule});
  ASSERT_FALSE(no);
  EXPECT_THAT(no.error().message, HasSubstr("both a tensor and a module"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  ASSERT_TRUE(write({}));
  EXPECT_EQ(write({}).error().code, Error::Code::kInvalid);  // it exists
  EXPECT_TRUE(write({.existing = Existing::kReplace}));
}

// The newest was exported all the same, and that is said.
TEST_F(TorchExport, TheProgramSaysWhatItTookPastDamage) {
  pool.reset();
  const std::string path = folder.path() + "/pool";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(head_offset(1)))
      .put('x');
  ASSERT_EQ(shell(EXPORT " " + path + " -o " + file()), 0) << said();
  EXPECT_THAT(said(), HasSubstr("head page 1 is damaged"));
  EXPECT_THAT(said(), HasSubstr("step 12 is the newest that is whole"));
  EXPECT_EQ(said().find("an older one"), std::string::npos);
}

TEST_F(TorchExport, TheProgramWritesWhatPythonLoads) {
  pool.reset();
  const std::string program = EXPORT " " + folder.path() + "/pool -o " + file();
  ASSERT_EQ(shell(program), 0) << said();
  EXPECT_THAT(said(), HasSubstr("checkpoint 1, step 12, 9 tensors"));
  EXPECT_NE(shell(program), 0);
  EXPECT_THAT(said(), HasSubstr("File exists"));
  const auto weight = model->named_parameters()["0.weight"];
  const std::string python =
      "/usr/bin/python3 -c \""
      "import torch\n"
      "for only in False, True:\n"
      "  d = torch.load('" +
      file() +
      "', weights_only=only)\n"
      "  assert type(d) is dict and len(d) == 9, d\n"
      "  assert d['half'].dtype == torch.bfloat16\n"
      "  assert d['model.0.weight'].shape == (6, 4)\n"
      "  assert d['model.0.weight'][1, 2].item() == float.fromhex('" +
      [&] {
        char hex[40];
        std::snprintf(hex, sizeof hex, "%a", weight[1][2].item<double>());
        return std::string(hex);
      }() +
      "')\"";
  EXPECT_EQ(shell(python), 0) << said();
}

}  // namespace
}  // namespace thermocline
