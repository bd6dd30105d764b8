// HugePages: which pages of a process lie in a transparent huge page.
//
// move_pages(2) moves a huge page as a whole when it is given any address in
// it and answers EBUSY for further addresses, so one address per huge page is
// right. The kernel tells through pagemap and kpageflags, to root only; where
// it does not tell, nothing is huge and the mover lives with EBUSY.
//
// Cost: two small reads per huge-page-sized block of addresses asked for.
// Thread safety: none.
#pragma once

#include <string>

#include "daemon/syscalls.h"

namespace thermocline {

class HugePages {
 public:
  /// Requires: the kernel outlives this.
  HugePages(Kernel& kernel, int pid);

  /// Address of the huge page that holds this present page, or 0. Ask in
  /// ascending order: the answer for a block is remembered.
  Address block_of(Address page);
  /// What was remembered may have changed.
  void forget() { block_ = kNoBlock; }
  /// Bytes of a huge page; 0 where there are none or they cannot be told.
  Bytes bytes() const { return huge_bytes_; }

 private:
  static constexpr Address kNoBlock = ~Address{0};

  bool ask(Address page);

  Kernel& kernel_;
  std::string pagemap_;
  Bytes huge_bytes_ = 0;  // 0: not known, or no huge pages
  Address block_ = kNoBlock;
  bool huge_ = false;
};

/// Bytes of a transparent huge page, or 0 where there are none.
Bytes huge_page_bytes(Kernel& kernel);

}  // namespace thermocline
