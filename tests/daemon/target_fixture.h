// A target, process 7, on a machine of tables.
#pragma once

#include <gtest/gtest.h>

#include "daemon/target.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {

class TargetTest : public ::testing::Test {
 protected:
  static constexpr Address kBase = Address{1} << 30;
  static constexpr Address kPage = ScriptedKernel::kPage;
  static constexpr Bytes kRegion = 64 * kPage;

  Result<Target> attach(Target::Options options = {}) {
    return Target::attach(kernel, machine, 7, options);
  }
  Error::Code refusal() {
    const auto target = attach();
    return target ? Error::Code::kInterrupted : target.error().code;
  }
  ScriptedKernel kernel;
  Machine machine = scripted_machine();
};

}  // namespace thermocline
