#include "training/copy_pieces.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace thermocline {
namespace {

// Sizes around the parts that are copied at once, at places that are aligned
// to nothing.
TEST(CopyPieces, CopiesAllAndNothingElse) {
  const std::vector<std::size_t> sizes{0,       1,       63,        4096,
                                       262'143, 262'144, 1'048'577, 3'000'000};
  std::vector<ByteVector> from, to;
  std::vector<PieceCopy> copies;
  for (const std::size_t size : sizes) {
    from.emplace_back(size);
    std::iota(from.back().begin(), from.back().end(),
              static_cast<std::uint8_t>(size));
    to.emplace_back(size + 20, std::uint8_t{77});
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    copies.push_back({to[i].data() + 7, from[i]});
  }
  copy_pieces(copies, 3);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ByteVector wanted(7, 77);
    wanted.insert(wanted.end(), from[i].begin(), from[i].end());
    wanted.insert(wanted.end(), 13, 77);
    EXPECT_EQ(to[i], wanted) << sizes[i];
  }
}

TEST(CopyPieces, WhereTheyOverlapTheLastOneCounts) {
  const ByteVector ones(5'000'000, 1), twos(5'000'000, 2);
  ByteVector to(5'000'100);
  const std::vector<PieceCopy> copies{{to.data() + 100, ones},
                                      {to.data(), twos}};
  copy_pieces(copies, 4);
  EXPECT_EQ(to[4'999'999], 2);
  EXPECT_EQ(to[5'000'000], 1);
}

}  // namespace
}  // namespace thermocline
