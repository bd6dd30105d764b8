// CopyLedger: what is still free beside a step's operators: room in fast
// memory, and time in which copies can be made unnoticed.
//
// Positions count operators along a tensor's life and go on through the next
// step: position p is operator p % operators(). Between the last operator and
// the next step's first lies the end, a moment with room of its own.
//
// One copy is made at a time. What operator k leaves of the links is divided
// among copies as CopyEngine does, with the operator's time as set_times()
// gives it. Nothing is promised twice.
//
// Thread safety: none. The iteration must outlive it. Units: bytes, ns.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "policies/plan.h"

namespace thermocline {

class CopyLedger {
 public:
  // Held in fast memory: at positions [from, to), and at the end.
  struct Hold {
    std::size_t from = 0;
    std::size_t to = 0;
    bool end = false;
  };
  // A copy's time.
  struct Booking {
    std::vector<std::pair<std::uint32_t, double>> shares;  // of operators'
    double copy_ns = 0;
    double exposed_ns = 0;  // of it, while the job waits
  };

  /// `bytes`: room in fast memory, at most its capacity.
  CopyLedger(const Iteration& iteration, const Room& room, Bytes bytes);

  /// How long operators take, and what they leave of the links, under a
  /// placement of the tensors of each: place(k, t) is the tier of t during
  /// operator k. Requires: nothing is booked.
  template <typename Place>
  void set_times(const Place& place) {
    std::vector<TierId> placement(iteration_.tensors(), 0);
    for (std::size_t k = 0; k < size_; ++k) {
      for_each_tensor(k, [&](auto t) { placement[t] = place(k, t); });
      set_times_of(k, placement);
      for_each_tensor(k, [&](auto t) { placement[t] = 0; });
    }
  }

  std::size_t operators() const { return size_; }
  Bytes left(std::size_t position) const {
    return capacity_ - used_[position % size_];
  }
  bool fits(const Hold& hold, Bytes bytes) const;
  /// Requires: fits().
  void take(const Hold& hold, Bytes bytes);
  void give_back(const Hold& hold, Bytes bytes);

  /// Books a copy into fast memory that is done by `needed`, as late as can
  /// be, but not before `earliest` and only while there is room for the tensor.
  /// Returns where it starts.
  std::size_t book_in(std::uint32_t tensor, std::size_t earliest,
                      std::size_t needed, Booking& out);
  /// Books a copy out of fast memory from `start` on, that ends by `latest`,
  /// and before the room that the tensor holds until then is gone. Returns
  /// where it ends.
  std::size_t book_out(std::uint32_t tensor, std::size_t start,
                       std::size_t latest, Booking& out);
  void cancel(const Booking& booking);
  void book_again(const Booking& booking);

 private:
  template <typename Act>
  void for_each_tensor(std::size_t k, const Act& act) {
    for (const auto t : iteration_.op(k).reads) act(t);
    for (const auto t : iteration_.op(k).writes) act(t);
  }
  template <typename Act>
  void for_each_piece(const Hold& hold, const Act& act) const;
  void set_times_of(std::size_t k, std::span<const TierId> placement);
  bool has(std::size_t place, Bytes bytes) const {
    return bytes <= capacity_ && used_[place] <= capacity_ - bytes;
  }
  void book_at(std::size_t k, const std::vector<double>& free, double link_ns,
               double limit_ns, double& left, Booking& out);

  const Iteration& iteration_;
  std::size_t size_;
  Bytes capacity_;
  TierId slow_;
  double limit_ns_per_byte_;
  std::vector<Bytes> used_;      // by operator, and at the end
  std::vector<double> time_;     // of operators
  std::vector<double> free_in_;  // of it, for a copy into fast memory
  std::vector<double> free_out_;
  std::vector<double> unused_;  // share of it not yet booked
};

}  // namespace thermocline
