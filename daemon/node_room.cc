#include "daemon/node_room.h"

#include <algorithm>

#include "daemon/node_memory.h"

namespace thermocline {

void NodeRoom::ask() {
  asked_ = true;
  taken_ = 0;
  left_.reset();
  const auto memory = node_memory(kernel_, node_);
  if (memory) left_ = memory->free_with(kReclaim);
}

Bytes NodeRoom::take(Bytes wanted) {
  if (!asked_ || (left_ && taken_ + wanted > *left_ / 2)) ask();
  if (!left_) return wanted;
  const Bytes given = std::min(wanted, *left_ - std::min(*left_, taken_));
  taken_ += given;
  return given;
}

}  // namespace thermocline
