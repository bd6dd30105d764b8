// page_faults: memory accesses that every machine's kernel can sample, for
// tests of live sampling.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <cstddef>

namespace thermocline {

/// Pages that nobody has touched yet.
inline char* fresh(std::size_t pages) {
  void* const at = mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, pages * 4096, MADV_NOHUGEPAGE);
  return static_cast<char*>(at);
}

/// Touches `pages` fresh pages; each touch is a page fault at that address.
inline void touch(char* memory, std::size_t pages) {
  for (std::size_t i = 0; i < pages; ++i) memory[i * 4096] = 1;
}

/// Faults on `pages` pages that are fresh each time.
inline void fault(std::size_t pages) {
  char* const memory = fresh(pages);
  touch(memory, pages);
  munmap(memory, pages * 4096);
}

// Keeps the calling thread on the CPU it is on, until destroyed.
class OnOneCpu {
 public:
  OnOneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
    sched_setaffinity(0, sizeof here, &here);
  }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;
  ~OnOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

}  // namespace thermocline
