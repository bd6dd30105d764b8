// Bandwidth of which there is so much, and no more.
#pragma once

#include <algorithm>

#include "training/bandwidth.h"

namespace thermocline {

class ScarceBandwidth final : public Bandwidth {
 public:
  explicit ScarceBandwidth(Bytes left) : left_(left) {}
  void take(Bytes bytes) override {
    waited_for += bytes;
    use_.taken += bytes;
  }
  Bytes take_now(Bytes bytes) override {
    const Bytes granted = std::min(bytes, left_);
    left_ -= granted;
    use_.taken += granted;
    return granted;
  }
  void give_back(Bytes bytes) override {
    left_ += bytes;
    use_.taken -= bytes;
  }
  Use use() const override { return use_; }

  Bytes waited_for = 0;

 private:
  Bytes left_;
  Use use_;
};

}  // namespace thermocline
