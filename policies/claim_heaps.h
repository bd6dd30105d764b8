// Heaps of claims, for pack(): who goes first, and who comes.
//
// Of 100,000 objects a budget lets few move, so neither is sorted.
//
// Thread safety: none. Determinism: ties go to the lower ObjectId.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "policies/best_fit.h"

namespace thermocline {

// Least valuable first, and only as far as it is asked: a budget seldom lets
// more than a few of them go.
class Leavers {
 public:
  void add(const Claim& claim) { heap_.push_back(claim); }
  void arrange() { std::make_heap(heap_.begin(), heap_.end(), later); }

  /// The n-th of those that have not gone, or nullptr.
  const Claim* at(std::size_t n) {
    while (gone_ + n >= order_.size()) {
      if (heap_.empty()) return nullptr;
      std::pop_heap(heap_.begin(), heap_.end(), later);
      order_.push_back(heap_.back());
      heap_.pop_back();
    }
    return &order_[gone_ + n];
  }
  /// The first n have gone.
  void go(std::size_t n) { gone_ += n; }
  void go_one(std::size_t n) {
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(gone_ + n));
  }

 private:
  static bool later(const Claim& a, const Claim& b) {
    return a.key != b.key ? a.key > b.key : a.id < b.id;
  }
  std::vector<Claim> heap_;
  std::vector<Claim> order_;
  std::size_t gone_ = 0;
};

// Most valuable first, likewise.
class Wanted {
 public:
  void add(const Claim& claim) { heap_.push_back(claim); }
  void arrange() { std::make_heap(heap_.begin(), heap_.end(), later); }
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Bytes smallest() const {
    Bytes out = std::numeric_limits<Bytes>::max();
    for (const Claim& claim : heap_) out = std::min(out, claim.bytes);
    return out;
  }
  const Claim& top() const { return heap_.front(); }
  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }
  void push(const Claim& claim) {
    heap_.push_back(claim);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  /// Only those of which it is true.
  template <typename Keep>
  void keep(Keep keep) {
    std::erase_if(heap_, [&](const Claim& claim) { return !keep(claim); });
    arrange();
  }

 private:
  static bool later(const Claim& a, const Claim& b) {
    return a.key != b.key ? a.key < b.key : a.id > b.id;
  }
  std::vector<Claim> heap_;
};

}  // namespace thermocline
