#include "traces/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace thermocline {
namespace {

Result<int> half(int of) {
  if (of % 2 != 0) return invalid(std::to_string(of) + " is odd");
  return of / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  const auto good = half(4);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 2);
  const auto bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Error::Code::kInvalid);
  EXPECT_EQ(bad.error().message, "3 is odd");
}

TEST(Result, StatusIsGoodByDefault) {
  EXPECT_TRUE(Status());
  EXPECT_FALSE(Status(io("no")));
}

TEST(Result, WithinAddsOneFrameToErrorsOnly) {
  EXPECT_EQ(*half(4).within("halving"), 2);
  const auto bad = half(3).within("halving").within("loading");
  EXPECT_EQ(bad.error().message, "loading: halving: 3 is odd");
  EXPECT_EQ(bad.error().code, Error::Code::kInvalid);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> owner(std::make_unique<int>(7));
  const std::unique_ptr<int> out = *std::move(owner);
  EXPECT_EQ(*out, 7);
}

TEST(Result, AnErrorOfAResultOfErrorsIsAnError) {
  const Result<std::string> text(corrupt("bad"));
  EXPECT_FALSE(text);
}

TEST(Result, EveryCodeHasItsOwnName) {
  using enum Error::Code;
  std::set<std::string> names;
  for (const auto code : {kInvalid, kNotFound, kUnsupported, kPermission, kIo,
                          kCorrupt, kInterrupted}) {
    names.insert(code_name(code));
  }
  EXPECT_EQ(names.size(), 7);
  EXPECT_EQ(names.count("unknown"), 0);
}

TEST(ResultDeathTest, TakingWhatIsNotThereAborts) {
  EXPECT_DEATH((void)*half(3), "check failed: has_value");
  EXPECT_DEATH((void)half(4).error(), "check failed: !has_value");
  EXPECT_DEATH(CHECK(1 == 2), "check failed: 1 == 2");
}

}  // namespace
}  // namespace thermocline
