// Histories: what is remembered of all objects, a column of each number.
//
// Columns, for every window changes all of them: several objects an
// instruction.
//
// Thread safety: plain values.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "traces/types.h"

namespace thermocline {

// What is remembered of an object; counts are per window.
struct History {
  double short_loads = 0;
  double long_loads = 0;
  double short_stores = 0;  // a store counts for as many loads as it costs
  double long_stores = 0;
  double life = 0;          // store-weighted accesses since it was first seen
  double samples = 0;       // about; see FeatureTracker::quantum_
  double gap = 0;           // mean windows between windows with accesses
  std::int32_t since = -1;  // windows since the last access; -1: never
  std::int32_t age = 0;     // windows seen
  std::int32_t away = 0;    // windows since it was there

  std::int32_t windows() const { return std::max(age, 1); }
};

// A running average moves by `rate` of what is new. One that started from 0 is
// right if divided by 1 - (1 - rate)^age: a table, for that is asked for five
// times an object and window. Beyond it what was there at first no longer
// counts in the last bit.
class Risen {
 public:
  explicit Risen(double rate) {
    for (std::int32_t age = 0; age < kAges; ++age) {
      by_age_[age] = 1 - std::pow(1 - rate, age);
    }
    by_age_[kAges] = 1;
  }
  [[gnu::always_inline]] double at(std::int32_t age) const {
    return by_age_[age < 1 ? 1 : age < kAges ? age : kAges];
  }

 private:
  static constexpr std::int32_t kAges = 512;
  double by_age_[kAges + 1] = {};
};

inline constexpr double kShortRate = 0.5;
inline constexpr double kLongRate = 0.08;
inline const Risen kShortRisen(kShortRate);
inline const Risen kLongRisen(kLongRate);

struct Histories {
  std::vector<double> short_loads;
  std::vector<double> long_loads;
  std::vector<double> short_stores;
  std::vector<double> long_stores;
  std::vector<double> life;
  std::vector<double> samples;
  std::vector<double> gap;
  std::vector<std::int32_t> since;
  std::vector<std::int32_t> age;
  std::vector<std::int32_t> away;

  std::size_t size() const { return since.size(); }
  /// Of new objects nothing is remembered.
  void resize(std::size_t objects) {
    for (auto* column : averages()) column->resize(objects);
    since.resize(objects, History().since);
    age.resize(objects);
    away.resize(objects);
  }
  History at(std::size_t i) const {
    return {short_loads[i], long_loads[i], short_stores[i], long_stores[i],
            life[i],        samples[i],    gap[i],          since[i],
            age[i],         away[i]};
  }
  void forget(std::size_t i) {
    for (auto* column : averages()) (*column)[i] = 0;
    since[i] = History().since;
    age[i] = away[i] = 0;
  }

 private:
  std::array<std::vector<double>*, 7> averages() {
    return {&short_loads, &long_loads, &short_stores, &long_stores,
            &life,        &samples,    &gap};
  }
};

}  // namespace thermocline
