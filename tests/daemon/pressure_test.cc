#include "daemon/pressure.h"

#include <gtest/gtest.h>

#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

Refusal pressure_of(Kernel& kernel, int pid, const PressureOptions& options) {
  return target_pressure(kernel, pid, system_pressure(kernel, options),
                         options);
}

std::string pressure(const std::string& some) {
  return "some avg10=" + some +
         " avg60=0.00 avg300=0.00 total=1\n"
         "full avg10=99.00 avg60=0.00 avg300=0.00 total=1\n";
}

TEST(Pressure, AKernelThatDoesNotTellIsAtEase) {
  ScriptedKernel kernel;
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kNone);
  kernel.files["proc/pressure/memory"] = "nonsense";
  kernel.files["proc/meminfo"] = "MemTotal: lots\n";
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kNone);
}

TEST(Pressure, TasksThatWaitForMemoryHoldMoves) {
  ScriptedKernel kernel;
  kernel.files["proc/pressure/memory"] = pressure("9.99");
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kNone);
  kernel.files["proc/pressure/memory"] = pressure("10.01");
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kPressure);
  EXPECT_EQ(pressure_of(kernel, 7, {.waiting = 0}), Refusal::kNone);
}

TEST(Pressure, SoDoThoseOfTheTargetsOwnCgroup) {
  ScriptedKernel kernel;
  kernel.files["proc/7/cgroup"] = "0::/training.slice\n";
  kernel.files["sys/fs/cgroup/training.slice/memory.pressure"] = pressure("50");
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kPressure);
  EXPECT_EQ(pressure_of(kernel, 8, {}), Refusal::kNone);
}

TEST(Pressure, TooLittleAvailableHoldsThemToo) {
  ScriptedKernel kernel;
  kernel.files["proc/meminfo"] =
      "MemTotal:  1000000 kB\nMemFree: 5 kB\nMemAvailable: 20000 kB\n";
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kNone);
  kernel.files["proc/meminfo"] =
      "MemTotal:  1000000 kB\nMemFree: 5 kB\nMemAvailable: 19999 kB\n";
  EXPECT_EQ(pressure_of(kernel, 7, {}), Refusal::kOomMargin);
  EXPECT_EQ(pressure_of(kernel, 7, {.margin = 0}), Refusal::kNone);
}

}  // namespace
}  // namespace thermocline
