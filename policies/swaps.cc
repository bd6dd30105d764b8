#include "policies/swaps.h"

#include <algorithm>
#include <limits>

#include "traces/wide.h"

namespace thermocline {
namespace {

bool hotter_last(const Claim& a, const Claim& b) {
  return a.key != b.key ? a.key < b.key : a.id > b.id;
}
bool colder_last(const Claim& a, const Claim& b) {
  return a.key != b.key ? a.key > b.key : a.id < b.id;
}

THERMOCLINE_WIDE
void mark(std::size_t count, const std::uint8_t* movable, const TierId* tier,
          const std::uint8_t* rise, const std::uint8_t* stay, std::uint8_t* up,
          std::uint8_t* down) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto fast = static_cast<std::uint8_t>(tier[i] == 0);
    up[i] = movable[i] & rise[i] & (fast ^ 1);
    down[i] = movable[i] & (stay[i] ^ 1) & fast;
  }
}

class Swapper {
 public:
  Swapper(const View& view, std::span<const Bytes> used, std::span<Claim> down,
          const SwapLimits& limits)
      : view_(view),
        limits_(limits),
        time_ns_(limits.time_ns),
        budget_(view.budget),
        used_(used.begin(), used.end()),
        down_(down),
        staying_(down.size()) {
    std::make_heap(down_.begin(), down_.end(), colder_last);
  }

  void drain() {
    while (used_[0] > view_.tiers[0].capacity) {
      const Claim* cold = next_down();
      if (cold == nullptr) return;
      if (affords(cold->bytes)) demote(*cold);
    }
  }

  void bring_up(std::span<Claim> up, const Pays& pays) {
    std::make_heap(up.begin(), up.end(), hotter_last);
    std::size_t refused = 0;
    Bytes too_large = std::numeric_limits<Bytes>::max();
    for (auto end = up.end();
         end != up.begin() && refused < kMostSwapsRefused;) {
      std::pop_heap(up.begin(), end, hotter_last);
      const Claim& hot = *--end;
      if (hot.bytes >= too_large || !affords(hot.bytes)) {
        ++refused;
        continue;
      }
      const std::size_t before = staying_;
      const bool room = make_room(hot.bytes);
      const auto leaving =
          std::span(down_).subspan(staying_, before - staying_);
      if (!room) too_large = hot.bytes;
      if (room && affords(sum(hot, leaving)) && pays(hot, leaving)) {
        // As they were taken from the heap: the coldest is the last.
        for (std::size_t i = leaving.size(); i-- > 0;) demote(leaving[i]);
        promotions_.push_back({hot.id, hot.tier, 0});
        used_[0] += hot.bytes;
        pay(hot.bytes);
        continue;
      }
      ++refused;
      while (staying_ < before) {
        ++staying_;
        std::push_heap(down_.begin(), stay_end(), colder_last);
      }
    }
  }

  std::vector<Move> moves() {
    demotions_.insert(demotions_.end(), promotions_.begin(), promotions_.end());
    return std::move(demotions_);
  }

 private:
  std::span<Claim>::iterator stay_end() {
    return down_.begin() + static_cast<std::ptrdiff_t>(staying_);
  }
  const Claim* next_down() {
    if (staying_ == 0) return nullptr;
    std::pop_heap(down_.begin(), stay_end(), colder_last);
    return &down_[--staying_];
  }

  // Takes the coldest from the heap until `bytes` would fit.
  bool make_room(Bytes bytes) {
    Bytes used = used_[0];
    while (used > limits_.filled || bytes > limits_.filled - used) {
      const Claim* cold = next_down();
      if (cold == nullptr) return false;
      used -= cold->bytes;
    }
    return true;
  }

  static Bytes sum(const Claim& hot, std::span<const Claim> leaving) {
    Bytes out = hot.bytes;
    for (const Claim& one : leaving) out += one.bytes;
    return out;
  }
  bool affords(Bytes bytes) const {
    return bytes <= budget_ &&
           static_cast<double>(bytes) * limits_.ns_per_byte <= time_ns_;
  }
  void pay(Bytes bytes) {
    budget_ -= bytes;
    time_ns_ -= static_cast<double>(bytes) * limits_.ns_per_byte;
  }

  void demote(const Claim& claim) {
    std::size_t to = 1;
    const auto full = [&](std::size_t t) {
      const Bytes capacity = view_.tiers[t].capacity;
      return used_[t] > capacity || claim.bytes > capacity - used_[t];
    };
    while (to + 1 < used_.size() && full(to)) ++to;
    demotions_.push_back({claim.id, 0, static_cast<TierId>(to)});
    used_[0] -= claim.bytes;
    used_[to] += claim.bytes;
    pay(claim.bytes);
  }

  const View& view_;
  const SwapLimits& limits_;
  double time_ns_;  // left
  Bytes budget_;
  // By tier, without the room that promotions free: demotions go first.
  std::vector<Bytes> used_;
  std::span<Claim> down_;  // a heap of those that stay, then those that left
  std::size_t staying_;
  std::vector<Move> demotions_;
  std::vector<Move> promotions_;
};

}  // namespace

std::vector<Move> swaps(const View& view, const ObjectColumns& columns,
                        std::span<Claim> up, std::span<Claim> down,
                        const SwapLimits& limits, const Pays& pays) {
  Swapper swapper(view, columns.used, down, limits);
  swapper.drain();
  swapper.bring_up(up, pays);
  return swapper.moves();
}

void mark_swaps(const ObjectColumns& columns,
                std::span<const std::uint8_t> rise,
                std::span<const std::uint8_t> stay, Marks& up, Marks& down) {
  up.resize(stay.size());
  down.resize(stay.size());
  mark(stay.size(), columns.movable.data(), columns.tier.data(), rise.data(),
       stay.data(), up.data(), down.data());
}

}  // namespace thermocline
