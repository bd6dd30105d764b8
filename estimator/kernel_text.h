// What the kernel prints below /sys: numbers, and lists of them.
//
// Thread safety: pure, but for reading files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thermocline {

/// A whole file; empty when it cannot be read.
std::string slurp(const std::filesystem::path& path);

/// The number that a file begins with; 0 when there is none.
double number_in(const std::filesystem::path& path);

/// "0-3,8" -> {0, 1, 2, 3, 8}: numbers from 0 to below `limit`. Stops at what
/// it does not understand.
std::vector<int> parse_list(const std::string& text, int limit);

// More nodes than the kernel can be built for (CONFIG_NODES_SHIFT is at most
// 10), and more CPUs.
inline constexpr int kMostNodes = 1024;
inline constexpr int kMostCpus = 1 << 20;

}  // namespace thermocline
