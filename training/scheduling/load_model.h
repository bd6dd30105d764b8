// LoadModel: what an operator will take, from what its kind took before.
//
// Operators whose work is known only at run time (loops with data-dependent
// trips, experts with as many tokens as the router gives, sequences of any
// length) are told apart by kind and sized by what is known when they become
// ready. Seconds per unit of size are measured and averaged, new ones weighing
// more.
//
// Thread safety: plain values. Units: seconds.
#pragma once

#include <map>
#include <string>

namespace thermocline {

class LoadModel {
 public:
  /// `weight` of the newest measurement, 0 to 1.
  explicit LoadModel(double weight = 0.3) : weight_(weight) {}

  void measured(const std::string& kind, double size, double seconds);
  /// Of a kind never seen: as the mean of those that were; of none, the size.
  double expected(const std::string& kind, double size) const;

 private:
  double weight_;
  std::map<std::string, double> seconds_a_unit_;
};

}  // namespace thermocline
