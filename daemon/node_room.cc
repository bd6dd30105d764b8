#include "daemon/node_room.h"

#include <algorithm>

#include "daemon/node_memory.h"

namespace thermocline {
namespace {

// Of inactive page cache, what the kernel will find easy to drop.
constexpr double kDropped = 0.8;

}  // namespace

void NodeRoom::ask() {
  asked_ = true;
  taken_ = 0;
  left_.reset();
  const auto memory = node_memory(kernel_, node_);
  if (!memory) return;
  left_ =
      memory->free +
      static_cast<Bytes>(kDropped * static_cast<double>(memory->inactive_file));
}

Bytes NodeRoom::take(Bytes wanted) {
  if (!asked_ || (left_ && taken_ + wanted > *left_ / 2)) ask();
  if (!left_) return wanted;
  const Bytes given = std::min(wanted, *left_ - std::min(*left_, taken_));
  taken_ += given;
  return given;
}

}  // namespace thermocline
