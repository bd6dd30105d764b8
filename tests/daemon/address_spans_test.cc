#include "daemon/address_spans.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(AddressSpans, HoldsWhatWasAddedInAnyOrder) {
  AddressSpans spans;
  EXPECT_FALSE(spans.has(0));
  spans.add(300, 400);
  spans.add(100, 200);
  EXPECT_TRUE(spans.has(100));
  EXPECT_TRUE(spans.has(199));
  EXPECT_FALSE(spans.has(200));
  EXPECT_FALSE(spans.has(299));
  spans.add(150, 310);  // joins the two
  spans.add(120, 130);  // inside
  EXPECT_TRUE(spans.has(250));
  EXPECT_TRUE(spans.has(399));
  EXPECT_FALSE(spans.has(99));
  EXPECT_FALSE(spans.has(400));
}

}  // namespace
}  // namespace thermocline
