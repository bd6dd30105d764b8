// Rows in memory and in files: the same interface, the same bytes.
#include "training/row_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/training/pool_folder.h"
#include "traces/libtorch.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

class RowStoreTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/rows"; }
  PoolFolder folder_;
};

TEST_F(RowStoreTest, AFileIsThereAgainWhenOpened) {
  torch::manual_seed(1);
  // A row of 20,000 floats begins at a page, one of 7 at a cache line.
  for (const std::int64_t width : {7, 20'000}) {
    const auto wanted = torch::randn({5, width});
    {
      auto store = RowStore::in_file(path(), 5, width);
      ASSERT_TRUE(store) << store.error().message;
      EXPECT_EQ(store->all().abs().sum().item<double>(), 0);
      store->all().copy_(wanted);
      ASSERT_TRUE(store->sync(0, 5));
      store->let_go(0, 5);
      EXPECT_TRUE(torch::equal(store->all(), wanted));
    }
    const auto store = RowStore::open(path());
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(store->rows(), 5);
    EXPECT_EQ(store->width(), width);
    EXPECT_TRUE(torch::equal(store->row(3), wanted[3]));
    const auto batch = store->gather(torch::tensor({4, 0, 4}));
    EXPECT_TRUE(
        torch::equal(batch, torch::stack({wanted[4], wanted[0], wanted[4]})));
    std::filesystem::remove(path());
  }
}

TEST_F(RowStoreTest, MemoryHasTheSameInterface) {
  auto store = RowStore::in_memory(3, 9);
  ASSERT_TRUE(store);
  store->row(1).fill_(2);
  EXPECT_EQ(store->all().sum().item<double>(), 18);
  EXPECT_TRUE(store->sync(0, 3));
  store->let_go(0, 3);
  EXPECT_EQ(store->gather(torch::tensor({1})).sum().item<double>(), 18);
}

TEST_F(RowStoreTest, RefusesWhatIsNoFileOfRows) {
  EXPECT_EQ(RowStore::open(path()).error().code, Error::Code::kNotFound);
  std::ofstream(path()) << std::string(9000, 'x');
  EXPECT_THAT(RowStore::open(path()).error().message,
              HasSubstr("no file of rows"));
  std::filesystem::remove(path());
  ASSERT_TRUE(RowStore::in_file(path(), 4, 4096));
  EXPECT_FALSE(RowStore::in_file(path(), 4, 4096));  // it exists
  std::filesystem::resize_file(path(), 12'288);
  EXPECT_THAT(RowStore::open(path()).error().message, HasSubstr("cut short"));
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(24);
  file.put('\x07');  // the number of rows
  file.close();
  EXPECT_THAT(RowStore::open(path()).error().message, HasSubstr("damaged"));
  EXPECT_THAT(
      RowStore::in_memory(std::int64_t{1} << 40, 1 << 30).error().message,
      HasSubstr("no room anywhere"));
  EXPECT_EQ(RowStore::in_memory(std::int64_t{1} << 40, 1024).error().code,
            Error::Code::kIo);
}

}  // namespace
}  // namespace thermocline
