// NodeRoom: how much a node takes before the kernel itself runs short there.
//
// move_pages(2) fills a node below its low watermark, down to what the kernel
// keeps for emergencies. What the kernel needs for itself then fails, and where
// it can lie on no other node (slow memory is often for movable pages alone)
// the OOM killer ends some process. First touch never goes that far: below the
// low watermark it takes the next node. Nor does the mover. Page cache that the
// kernel gives up easily counts as free.
// Sources: mm/page_alloc.c, __alloc_pages_may_oom() spares requests for one
// node alone and nobody else; Documentation/admin-guide/mm/memory-hotplug.rst.
//
// Cost: asks the kernel again only when half of its last answer is used up.
// Thread safety: as the Kernel's.
#pragma once

#include <optional>

#include "daemon/syscalls.h"

namespace thermocline {

class NodeRoom {
 public:
  NodeRoom(Kernel& kernel, int node) : kernel_(kernel), node_(node) {}

  /// How much of `wanted` may be moved in now; it counts as moved. All of it
  /// where the kernel does not tell.
  Bytes take(Bytes wanted);

 private:
  void ask();

  Kernel& kernel_;
  int node_;
  bool asked_ = false;
  std::optional<Bytes> left_;  // when last asked
  Bytes taken_ = 0;            // since then
};

}  // namespace thermocline
