#include "traces/tensor_accesses.h"

#include <gtest/gtest.h>

#include <limits>

namespace thermocline {
namespace {

class TensorAccessesTest : public testing::Test {
 protected:
  void tensor(Address address, Bytes bytes, Nanos born, Nanos died) {
    const auto serial = static_cast<ObjectId>(trace_.tensors.size() + 1);
    trace_.tensors.push_back({serial, address, bytes, born, died, ""});
  }
  void sample(Nanos time, Address address, std::uint32_t period,
              Access access = Access::kLoad) {
    Sample made;
    made.time = time;
    made.address = address;
    made.period = period;
    made.access = access;
    trace_.samples.push_back(made);
  }
  TensorAccesses count() {
    trace_.sort();
    return tensor_accesses(trace_);
  }
  Trace trace_;
};

TEST_F(TensorAccessesTest, ASampleBelongsToWhoLivedThereThen) {
  tensor(0x10000, 8192, 10, 20);
  tensor(0x10000, 8192, 20, 30);  // in the memory of the first
  tensor(0x20000, 64, 15, -1);
  sample(9, 0x10000, 5);   // before
  sample(10, 0x10000, 5);  // the first
  sample(19, 0x11fff, 7, Access::kStore);
  sample(20, 0x11fff, 3);  // the second
  sample(25, 0x12000, 1);  // past its end
  sample(30, 0x10000, 1);  // dead
  sample(31, 0x2003f, 2, Access::kStore);
  const auto found = count();
  EXPECT_EQ(found.on_tensors, 4u);
  EXPECT_EQ(found.elsewhere, 3u);
  ASSERT_EQ(found.tensors.size(), 3u);
  EXPECT_EQ(found.tensors[0], (TensorAccess{1, 8192, 2, 5, 7, 0, 0}));
  EXPECT_EQ(found.tensors[1], (TensorAccess{3, 64, 1, 0, 2, 0, 0}));
  EXPECT_EQ(found.tensors[2], (TensorAccess{2, 8192, 1, 3, 0, 0, 0}));
  EXPECT_EQ(tensor_of_samples(trace_),
            (std::vector<std::uint32_t>{kNoTensor, 0, 0, 2, kNoTensor,
                                        kNoTensor, 1}));
}

TEST_F(TensorAccessesTest, SaysWhoSharesAPage) {
  tensor(0x10000, 64, 1, -1);
  tensor(0x10040, 64, 2, -1);        // beside the first
  tensor(0x10080, 3 * 4096, 3, -1);  // begins there, ends in a page of its own
  tensor(0x13080, 4096, 4, -1);      // shares that, and has another
  const auto found = count();
  const auto shared = [&](std::size_t i) {
    return std::pair(found.tensors[i].shared_pages,
                     found.tensors[i].neighbours);
  };
  EXPECT_EQ(shared(0), std::pair(std::uint64_t{0}, std::uint64_t{0}));
  EXPECT_EQ(shared(1), std::pair(std::uint64_t{1}, std::uint64_t{1}));
  EXPECT_EQ(shared(2), std::pair(std::uint64_t{1}, std::uint64_t{2}));
  EXPECT_EQ(shared(3), std::pair(std::uint64_t{1}, std::uint64_t{1}));
}

TEST_F(TensorAccessesTest, AbsurdTensorsHarmNothing) {
  tensor(0x10000, 0, 1, -1);
  tensor(0x10000, 64, 5, 5);
  tensor(~Address{0} - 10, 64, 5, -1);
  tensor(0x10000, ~Bytes{0}, 6, -1);
  tensor(0x10000, 64, std::numeric_limits<Nanos>::max(), -1);
  sample(5, 0x10000, 1);
  sample(std::numeric_limits<Nanos>::max(), 0x10000, 1);
  EXPECT_EQ(count().elsewhere + count().on_tensors, 2u);
}

}  // namespace
}  // namespace thermocline
