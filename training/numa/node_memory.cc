#include "training/numa/node_memory.h"

#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace thermocline {

NodeFloats::NodeFloats(std::size_t count, int node)
    : count_(count), bound_(node >= 0 && numa_available() >= 0) {
  if (bound_) {
    const std::size_t bytes = std::max<std::size_t>(1, count) * sizeof(float);
    data_ = static_cast<float*>(numa_alloc_onnode(bytes, node));
    bound_ = data_ != nullptr;
  }
  if (!bound_) data_ = new float[count];
  std::fill_n(data_, count, 0.0F);  // the pages are there from now on
}

NodeFloats::NodeFloats(NodeFloats&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      bound_(other.bound_) {}

NodeFloats& NodeFloats::operator=(NodeFloats&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(count_, other.count_);
  std::swap(bound_, other.bound_);
  return *this;
}

NodeFloats::~NodeFloats() {
  if (data_ == nullptr) return;
  if (bound_) {
    numa_free(data_, std::max<std::size_t>(1, count_) * sizeof(float));
  } else {
    delete[] data_;
  }
}

std::optional<std::size_t> pages_elsewhere(std::span<const float> memory,
                                           int node) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  std::vector<void*> pages;
  for (auto at = first / page * page; at < first + memory.size_bytes();
       at += page) {
    pages.push_back(reinterpret_cast<void*>(at));  // NOLINT: the kernel's form
  }
  std::vector<int> nodes(pages.size(), node);
  // Without nodes to go to, it says where they are.
  if (::move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0) !=
      0) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(),
                    [&](int one) { return one >= 0 && one != node; }));
}

bool bind_thread(int node, std::span<const int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  const bool bound = sched_setaffinity(0, sizeof set, &set) == 0;
  if (numa_available() >= 0) numa_set_preferred(node);
  return bound;
}

}  // namespace thermocline
