#include "daemon/tensors.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

Tensor tensor(ObjectId serial, Address address = 0x1000) {
  Tensor out;
  out.serial = serial;
  out.address = address;
  out.bytes = 64;
  out.label = "parameter";
  return out;
}

TEST(Tensors, LiveAndDeadAreFound) {
  TensorTable table;
  table.born(5, tensor(1));
  ASSERT_TRUE(table.find(1));
  EXPECT_TRUE(table.find(1)->alive);
  EXPECT_EQ(table.find(1)->label, "parameter");
  table.died(5, 1);
  ASSERT_TRUE(table.find(1));
  EXPECT_FALSE(table.find(1)->alive);
  EXPECT_EQ(table.alive(), 0u);
  EXPECT_FALSE(table.find(2));
}

TEST(Tensors, LiveOnesOfAnyJobComeFirst) {
  TensorTable table;
  table.born(5, tensor(1, 0x5000));
  table.died(5, 1);
  table.born(6, tensor(1, 0x6000));
  EXPECT_EQ(table.find(1)->pid, 6);
  EXPECT_EQ(table.find(1, 5)->address, 0x5000u);
  EXPECT_FALSE(table.find(1, 7));
}

TEST(Tensors, BoundedWhateverTheJobDoes) {
  TensorTable table(10, 4);
  for (ObjectId s = 1; s <= 20; ++s) table.born(5, tensor(s));
  EXPECT_EQ(table.alive(), 10u);
  EXPECT_EQ(table.dropped(), 10u);
  for (ObjectId s = 1; s <= 10; ++s) table.died(5, s);
  EXPECT_FALSE(table.find(1));
  EXPECT_TRUE(table.find(10));
  table.died(5, 10);  // twice
  table.died(5, 999);
  EXPECT_EQ(table.alive(), 0u);
  table.born(5, tensor(10));  // told of anew
  EXPECT_TRUE(table.find(10)->alive);
}

TEST(Tensors, AJobsEndForgetsItsTensors) {
  TensorTable table;
  table.born(5, tensor(1));
  table.born(6, tensor(2));
  table.born(5, tensor(3));
  table.died(5, 3);
  table.forget(5);
  EXPECT_FALSE(table.find(1));
  EXPECT_FALSE(table.find(3));
  EXPECT_TRUE(table.find(2));
  EXPECT_EQ(table.alive(), 1u);
}

}  // namespace
}  // namespace thermocline
