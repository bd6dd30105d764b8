// faded(): the end of what fades by a share a window.
//
// Below the smallest normal numbers an average stays as it is for ever, for a
// share of it rounds to nothing, and processors take a hundred times as long
// for each sum with it: after a quarter of an hour a daemon would spend most of
// its time on what nobody has accessed since.
//
// Thread safety: a pure function.
#pragma once

#include <concepts>

namespace thermocline {

/// The value, or 0 where that is nothing beside a single access. Requires: not
/// negative.
template <std::floating_point Number>
constexpr Number faded(Number value) {
  return value < static_cast<Number>(1e-30) ? Number{0} : value;
}

}  // namespace thermocline
