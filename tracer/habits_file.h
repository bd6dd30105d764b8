// What was learned of a job's tensors, kept for its next run: with it, also
// those that are born before the first iteration (the weights) are placed.
//
// A text: "thermocline-habits 1 OPERATORS", then a line for each key:
// KEY(hex) BYTES READS WRITES DISTANCE LIFETIME LIVES_ON(0|1), in the order of
// the keys. Only for runs of the same program; of another's, no key fits.
//
// Thread safety: as the file system's.
#pragma once

#include <string>
#include <string_view>

#include "tracer/tensor_habits.h"
#include "traces/result.h"

namespace thermocline {

std::string habits_text(const TensorHabits& habits);
/// Errors: kCorrupt, naming the line.
Result<TensorHabits> read_habits(std::string_view text);

/// Errors: as replace_file().
Status save_habits(const TensorHabits& habits, const std::string& path);
/// Errors: kNotFound where there is no such file, kPermission, kIo, kCorrupt.
Result<TensorHabits> load_habits(const std::string& path);

}  // namespace thermocline
