// SWAG against its definition, and larger than the memory it may have.
#include "training/swag.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "tests/training/pool_folder.h"
#include "traces/crc32c.h"
#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"

namespace thermocline {
namespace {

TEST(Swag, IsWhatItIsDefinedToBe) {
  constexpr std::int64_t kParameters = 37, kColumns = 4, kUpdates = 7;
  auto store = RowStore::in_memory(kColumns, kParameters);
  ASSERT_TRUE(store);
  Swag swag(*std::move(store));
  torch::manual_seed(3);
  const auto all = torch::randn({kUpdates, kParameters});
  std::vector<torch::Tensor> deviations;
  for (std::int64_t i = 0; i < kUpdates; ++i) {
    ASSERT_TRUE(swag.update(all[i]));
    deviations.push_back(all[i] - all.slice(0, 0, i + 1).mean(0));
  }
  EXPECT_FALSE(swag.update(torch::zeros({5})));
  const auto mean = all.mean(0);
  const auto variance = all.pow(2).mean(0) - mean.pow(2);
  EXPECT_TRUE(torch::allclose(swag.mean(), mean, 1e-4, 1e-6));
  EXPECT_TRUE(torch::allclose(swag.variance(), variance, 1e-4, 1e-5));

  torch::manual_seed(4);
  const auto sample = swag.sample();
  torch::manual_seed(4);
  const auto z1 = torch::randn({kParameters}), z2 = torch::randn({kColumns});
  auto wanted = mean + (variance / 2).sqrt() * z1;
  for (std::int64_t i = kUpdates - kColumns; i < kUpdates; ++i) {
    wanted += deviations[static_cast<std::size_t>(i)] * z2[i % kColumns] /
              std::sqrt(2.0 * (kColumns - 1));
  }
  EXPECT_TRUE(torch::allclose(sample, wanted, 1e-4, 1e-5));
}

// Three more updates after the checkpoint, then the job is gone. Returns:
// whether what resumes is what went on, sample by sample.
bool resumes(std::int64_t spare) {
  constexpr std::int64_t kParameters = 100, kColumns = 4, kUpdates = 12;
  const PoolFolder folder;
  const std::string rows = folder.path() + "/rows";
  torch::manual_seed(3);
  const auto all = torch::randn({kUpdates, kParameters});
  const auto sample_at = [&](const Swag& swag) {
    torch::manual_seed(static_cast<std::uint64_t>(swag.updates()));
    return swag.sample();
  };
  const auto go_on = [&](Swag& swag, std::int64_t end) {
    std::vector<torch::Tensor> out{sample_at(swag)};
    while (swag.updates() < end) {
      CHECK(swag.update(all[swag.updates()]));
      out.push_back(sample_at(swag));
    }
    return out;
  };
  auto whole_rows = RowStore::in_memory(kColumns + spare, kParameters);
  Swag whole(*std::move(whole_rows), spare);
  for (int i = 0; i < 7; ++i) CHECK(whole.update(all[i]));
  const auto wanted = go_on(whole, kUpdates);
  {
    auto store = RowStore::in_file(rows, kColumns + spare, kParameters);
    CHECK(store);
    Swag swag(*std::move(store), spare);
    TrainingState state;
    swag.add_to(state, "swag");
    auto pool = state.open_pool(folder.path() + "/pool");
    for (int i = 0; i < 7; ++i) CHECK(swag.update(all[i]));
    CHECK(pool && pool->save(*state.pieces(), 7));
    for (int i = 7; i < 10; ++i) CHECK(swag.update(all[i]));
  }
  auto store = RowStore::open(rows);
  CHECK(store);
  Swag swag(*std::move(store), spare);
  TrainingState state;
  swag.add_to(state, "swag");
  auto pool = state.open_pool(folder.path() + "/pool");
  const auto resumed = state.resume(*pool);
  EXPECT_TRUE(resumed && *resumed == 7 && swag.updates() == 7);
  const auto found = go_on(swag, kUpdates);
  EXPECT_EQ(found.size(), wanted.size());
  EXPECT_TRUE(torch::equal(found.back(), wanted.back()));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!torch::equal(found[i], wanted[i])) return false;
  }
  return true;
}

TEST(Swag, ResumedFromACheckpointItIsTheSameBitForBit) {
  EXPECT_TRUE(resumes(3));
  EXPECT_TRUE(resumes(8));
}

// What is spare is not for nothing: the columns of 7, 8 and 9 are in the place
// of those of 3, 4 and 5, which the first samples need.
TEST(Swag, WithoutSpareRowsOnlyLaterSamplesAre) { EXPECT_FALSE(resumes(0)); }

constexpr std::int64_t kParameters = 1 << 16, kColumns = 256;  // 64 MiB
constexpr rlim_t kLimit = rlim_t{32} << 20;

// A walk of parameters, as training makes one, and a sample of its posterior.
Result<std::uint32_t> posterior(Result<RowStore> store) {
  if (!store) return store.error();
  Swag swag(*std::move(store));
  torch::manual_seed(5);
  auto parameters = torch::randn({kParameters});
  for (std::int64_t i = 0; i < kColumns + 10; ++i) {
    parameters.add_(torch::randn({kParameters}), 0.01);
    if (auto ok = swag.update(parameters); !ok) return ok.error();
  }
  const auto sample = swag.sample();
  return crc32c(
      {static_cast<const std::uint8_t*>(sample.data_ptr()), sample.nbytes()});
}

// From now on this process may have no more than that.
void limit_memory() {
  Bytes pages[6] = {};
  std::ifstream statm("/proc/self/statm");
  for (auto& one : pages) statm >> one;
  const rlim_t now = pages[5] * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  const rlimit limit{now + kLimit, now + kLimit};
  CHECK(::setrlimit(RLIMIT_DATA, &limit) == 0);
}

// In a child, which the limit dies with. Returns: its status.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(Swag, LargerThanItsMemoryItIsTheSameBitForBit) {
  at::set_num_threads(1);
  const auto wanted = posterior(RowStore::in_memory(kColumns, kParameters));
  ASSERT_TRUE(wanted);
  EXPECT_EQ(in_child([] {
              limit_memory();
              return posterior(RowStore::in_memory(kColumns, kParameters)) ? 0
                                                                           : 1;
            }),
            1)
      << "DRAM alone should not have been enough";
  const PoolFolder folder;
  EXPECT_EQ(in_child([&] {
              limit_memory();
              const auto got = posterior(RowStore::in_file(
                  folder.path() + "/deviations", kColumns, kParameters));
              if (!got)
                std::fprintf(stderr, "%s\n", got.error().message.c_str());
              return got && *got == *wanted ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace thermocline
