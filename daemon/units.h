// Numbers for people: with their units, three digits that matter.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace thermocline {

/// "12.3 MiB"
inline std::string show_bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes,
                units[unit]);
  return text;
}

/// "1.234 s", "56.7 ms", "89 us"
inline std::string show_seconds(double seconds) {
  char text[32];
  if (seconds >= 1 || seconds == 0) {
    std::snprintf(text, sizeof text, "%.3f s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  }
  return text;
}

}  // namespace thermocline
