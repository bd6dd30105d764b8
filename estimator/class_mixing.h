// Class mixing: which classes of accesses a job makes in turns, and which in
// each other's company.
//
// Time tells where two classes overlap only if they are made together. Those of
// one loop follow each other in the samples as often as chance has it; those of
// two loops, far less.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thermocline {

inline constexpr std::uint32_t kAnyCompany = ~std::uint32_t{0};

/// By class, the number of its company: classes that follow each other, or are
/// linked by others that do. kAnyCompany: too rare to tell. `of_sample`: the
/// class of each sample, in the order of time.
std::vector<std::uint32_t> companies(std::span<const std::uint32_t> of_sample,
                                     std::size_t classes);

}  // namespace thermocline
