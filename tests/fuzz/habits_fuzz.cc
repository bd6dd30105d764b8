// Fuzzes the profile of tensors' habits: what is read can be written, and says
// the same when it is read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tracer/habits_file.h"
#include "tracer/tensor_heat.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace thermocline;  // NOLINT: a fuzz target of its own
  const auto habits = read_habits({reinterpret_cast<const char*>(data), size});
  if (!habits) return 0;
  const auto again = read_habits(habits_text(*habits));
  if (!again || again->all() != habits->all()) std::abort();
  const TensorHeat::Options options;
  const TensorHeat heat(options, habits->all(), habits->step_operators());
  for (const auto& [key, habit] : habits->all()) {
    if (heat.class_of(habit) >= TensorHeat::classes(options)) std::abort();
  }
  return 0;
}
