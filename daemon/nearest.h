// nearest: the name that somebody may have meant who mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace thermocline {

/// Of `names` the one that takes the fewest letters put in, left out, changed
/// or swapped with their neighbours; empty when even that takes more than a
/// third of its length.
std::string nearest(std::string_view mistyped,
                    std::span<const std::string> names);

}  // namespace thermocline
