#include "training/copy_pieces.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "training/parallel.h"
#include "training/pmem_library.h"

namespace thermocline {
namespace {

constexpr Bytes kPart = Bytes{1} << 20;      // at once, by one thread
constexpr Bytes kStreamed = Bytes{1} << 18;  // a cache would hold less

void copy(const PieceCopy& one) {
  if (one.from.size() < kStreamed) {
    if (!one.from.empty()) {
      std::memcpy(one.to, one.from.data(), one.from.size());
    }
    return;
  }
  stream_copy(one.to, one.from.data(), one.from.size());
}

}  // namespace

bool overlap(std::vector<PieceCopy> copies) {
  std::ranges::sort(copies, {}, &PieceCopy::to);
  for (std::size_t i = 1; i < copies.size(); ++i) {
    const auto& before = copies[i - 1];
    if (before.to + before.from.size() > copies[i].to) return true;
  }
  return false;
}

void copy_pieces(std::span<const PieceCopy> copies, unsigned threads) {
  std::vector<PieceCopy> parts;
  Bytes bytes = 0;
  for (const PieceCopy& one : copies) {
    bytes += one.from.size();
    for (Bytes at = 0; at < one.from.size(); at += kPart) {
      parts.push_back(
          {one.to + at,
           one.from.subspan(at, std::min(kPart, one.from.size() - at))});
    }
  }
  if (overlap({copies.begin(), copies.end()})) threads = 1;
  in_parallel(
      threads_for(bytes, threads), parts.size(),
      [&](std::size_t i) { copy(parts[i]); }, finish_streams);
}

}  // namespace thermocline
