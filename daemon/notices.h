// Notices: what the user should know, the latest lines of it.
//
// Thread safety: none. Bounded: of kMost lines the oldest makes room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace thermocline {

class Notices {
 public:
  static constexpr std::size_t kMost = 64;

  void add(std::string line) {
    if (lines_.size() == kMost) lines_.pop_front();
    lines_.push_back(std::move(line));
    ++given_;
  }
  /// Oldest first.
  const std::deque<std::string>& lines() const { return lines_; }
  /// All so far, those that made room included.
  std::uint64_t given() const { return given_; }
  /// Calls use(line) for each after the first `known`, as far as it is kept.
  void each_after(std::uint64_t known, auto&& use) const {
    const std::uint64_t first = given_ - lines_.size();
    for (auto i = known > first ? known - first : 0; i < lines_.size(); ++i) {
      use(lines_[i]);
    }
  }

 private:
  std::deque<std::string> lines_;
  std::uint64_t given_ = 0;
};

}  // namespace thermocline
