// TieLook: what a process has tied down, as the kernel tells it now.
//
// What is bound or reserved it tells in numa_maps, what is locked in smaps; to
// write either it walks over all pages of the process (10 ms a GiB of 4-KiB
// pages). How often one may look is the business of tied_memory.h.
//
// Source: man 5 proc; fs/proc/task_mmu.c (show_numa_map).
// Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/syscalls.h"

namespace thermocline {

enum class Tie : std::uint8_t {
  kNone = 0,
  kBound,
  kLocked,
  kReserved,    // huge pages
  kNew,         // not looked at yet, and not to be trusted
  kUnreadable,  // trouble says why
};
/// "the job bound this memory to its nodes", ...; "" for kNone.
const char* tie_text(Tie tie);

struct TieLook {
  // What to look for; reserved huge pages always are.
  struct Of {
    bool bound = true;
    bool locked = true;
  };
  std::map<Address, Tie> tied;  // by the start of the mapping
  // Why nothing can be said, with the remedy; empty when all could be read.
  std::string trouble;
  Nanos took = 0;
};

/// `directory`: "proc/17". A kernel without numa_maps has no policies.
TieLook look_at_ties(Kernel& kernel, const std::string& directory,
                     TieLook::Of of);

}  // namespace thermocline
