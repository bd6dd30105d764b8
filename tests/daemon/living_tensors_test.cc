#include "daemon/living_tensors.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

Tensor tensor(ObjectId serial) {
  Tensor one;
  one.serial = serial;
  one.born = 10 * serial;
  return one;
}

std::vector<ObjectId> written(LivingTensors& living) {
  std::vector<ObjectId> serials;
  living.write_new([&](const Tensor& one) { serials.push_back(one.serial); });
  return serials;
}

TEST(LivingTensors, WritesEachOnceWhileItLivesAndWholeWhenItDies) {
  LivingTensors living(10);
  EXPECT_TRUE(living.born(tensor(1)));
  EXPECT_TRUE(living.born(tensor(2)));
  EXPECT_EQ(living.died(2, 25)->died, 25);
  EXPECT_FALSE(living.died(2, 26)) << "twice";
  EXPECT_FALSE(living.died(7, 26)) << "never born";
  EXPECT_EQ(written(living), (std::vector<ObjectId>{1}));
  EXPECT_EQ(written(living), (std::vector<ObjectId>{}));
  const auto whole = living.died(1, 30);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->born, 10);
  EXPECT_EQ(whole->died, 30);
}

TEST(LivingTensors, CountsWhatItHasNoRoomFor) {
  LivingTensors living(3);
  for (ObjectId serial = 1; serial <= 3; ++serial) {
    EXPECT_TRUE(living.born(tensor(serial)));
  }
  EXPECT_FALSE(living.born(tensor(4)));
  EXPECT_FALSE(living.born(tensor(5)));
  EXPECT_EQ(living.left_out(), 2u);
  EXPECT_FALSE(living.died(4, 1));
  EXPECT_TRUE(living.died(1, 1));
  EXPECT_TRUE(living.born(tensor(6))) << "there is room again";
  EXPECT_EQ(living.left_out(), 2u);
}

}  // namespace
}  // namespace thermocline
