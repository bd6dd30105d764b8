#include "tracer/perf_ring_memory.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tracer/ring_records.h"

namespace thermocline {
namespace {

// Powers of two, besides the control page.
constexpr std::size_t kMostPages = 32;
constexpr std::size_t kLeastPages = 4;

}  // namespace

Result<RingMemory> RingMemory::map(int descriptor) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t pages = kMostPages;; pages /= 2) {
    void* const at = mmap(nullptr, page * (1 + pages), PROT_READ | PROT_WRITE,
                          MAP_SHARED, descriptor, 0);
    if (at != MAP_FAILED) {
      return RingMemory(static_cast<std::uint8_t*>(at), page, pages);
    }
    if (errno != EPERM) {
      return io(std::string("mapping a ring buffer: ") + std::strerror(errno));
    }
    if (pages > kLeastPages) continue;
    return permission(
        "ring buffers exceed kernel.perf_event_mlock_kb; raise it "
        "(sysctl kernel.perf_event_mlock_kb=4096), or run with CAP_IPC_LOCK");
  }
}

RingMemory::~RingMemory() {
  if (base_ != nullptr) munmap(base_, page_ * (1 + pages_));
}

void RingMemory::drain(PerfDecoder& decoder, std::vector<std::uint8_t>& scratch,
                       SampleBatch& batch) {
  const bool whole = drain(
      [&](const PerfHeader& header, std::span<const std::uint8_t> body) {
        decoder.take(header, body, batch);
      },
      scratch);
  if (!whole) ++batch.malformed;
}

bool RingMemory::drain(
    const std::function<void(const PerfHeader&, std::span<const std::uint8_t>)>&
        take,
    std::vector<std::uint8_t>& scratch) {
  auto* const control = reinterpret_cast<perf_event_mmap_page*>(base_);
  // The barriers that the header asks for: see data before head, and be
  // done with it before it is given back.
  const auto head =
      std::atomic_ref(control->data_head).load(std::memory_order_acquire);
  const std::span<const std::uint8_t> data(base_ + page_, page_ * pages_);
  const bool whole =
      each_ring_record(data, control->data_tail, head, scratch, take);
  std::atomic_ref(control->data_tail).store(head, std::memory_order_release);
  return whole;
}

}  // namespace thermocline
