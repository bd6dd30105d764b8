// AccessListener: who wants to know of accesses before, or better than, a
// sampler could tell.
//
// Parameter tables and ordered loops tell it; access_teller.h passes it on to
// thermoclined. Thread safety: none; one thread. Units: accesses are cache
// lines.
#pragma once

#include <cstddef>

namespace thermocline {

class AccessListener {
 public:
  virtual ~AccessListener() = default;
  AccessListener() = default;
  AccessListener(const AccessListener&) = delete;
  AccessListener& operator=(const AccessListener&) = delete;

  /// Memory of this process is, or will soon be, read and written so often.
  virtual void touch(const void* memory, std::size_t bytes, double loads,
                     double stores) = 0;
  /// Whether tell() would pass something on by now.
  virtual bool due() const = 0;
  /// Passes on what was touched, if it is due. Never waits.
  virtual void tell() = 0;
};

// Memory of which accesses are counted together: as fine as a daemon places.
inline constexpr std::size_t kGranule = 64 * 1024;

/// Cache lines of so many bytes.
inline double lines_of(std::size_t bytes) {
  return static_cast<double>((bytes + 63) / 64);
}

}  // namespace thermocline
