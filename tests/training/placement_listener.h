// A listener that keeps what it is told.
#pragma once

#include <cstdint>
#include <vector>

#include "training/placement/access_listener.h"

namespace thermocline {

class KeptAccesses final : public AccessListener {
 public:
  struct Touch {
    const std::byte* memory = nullptr;
    std::size_t bytes = 0;
    double loads = 0;
    double stores = 0;
  };
  void touch(const void* memory, std::size_t bytes, double loads,
             double stores) override {
    touched.push_back(
        {static_cast<const std::byte*>(memory), bytes, loads, stores});
  }
  bool due() const override { return is_due; }
  void tell() override {
    told.push_back(touched);
    touched.clear();
  }

  bool is_due = true;
  std::vector<Touch> touched;
  std::vector<std::vector<Touch>> told;  // by call of tell()
};

}  // namespace thermocline
