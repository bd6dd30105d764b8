// ModelSwitch: whether the cost model watches the guest.
//
// Off, the guest runs at the emulator's full speed and the virtual clocks
// stand still: for starting up and for what is not to be measured.
// Thread safety: want() from one thread, the rest from vCPUs' threads.
#pragma once

#include <atomic>

namespace thermocline {

class ModelSwitch {
 public:
  void want(bool on) { wanted_ = on; }
  bool is_on() const { return on_; }

  /// True, once, if the switch must be thrown; settle() ends the change.
  bool begin_change() { return wanted_ != on_ && !changing_.exchange(true); }
  void settle() {
    on_ = wanted_.load();
    changing_ = false;
  }

 private:
  std::atomic<bool> wanted_{false};
  std::atomic<bool> on_{false};
  std::atomic<bool> changing_{false};
};

}  // namespace thermocline
