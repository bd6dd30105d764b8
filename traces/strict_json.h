// JSON from outside, read strictly.
//
// What JSON leaves open is refused: a key that is there twice (one of the two
// would be ignored, and nobody could say which), and what is nested so deeply
// that the library, which copies and prints by recursion, would run out of
// stack. Thread safety: pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "traces/result.h"

namespace thermocline {

// Levels of objects and arrays. Nothing that we read has more than five.
inline constexpr int kDeepestJson = 32;

/// `comments`: as in C and C++ are skipped. Errors: kCorrupt where it is no
/// JSON, kInvalid otherwise; the message begins with the place ("3:14: ", line
/// and column, where it is known) and says what is wrong there.
Result<nlohmann::json> parse_json(std::string_view text, bool comments = false);

}  // namespace thermocline
