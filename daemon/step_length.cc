#include "daemon/step_length.h"

#include <algorithm>

namespace thermocline {

// Who steps several optimizers in turn marks short steps among long ones.
void StepLength::mark(Nanos now) {
  if (last_ >= 0) length_ = std::max(now - last_, length_ - length_ / 8);
  last_ = now;
}

Nanos StepLength::length(Nanos now) const {
  if (now - last_ > 2 * length_) return 0;
  return std::min(length_, kLongest);
}

}  // namespace thermocline
