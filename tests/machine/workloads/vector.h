// Vector: of three coordinates, for workloads that move in space.
//
// Thread safety: plain values.
#pragma once

namespace thermocline {

struct Vector {
  double x = 0, y = 0, z = 0;

  Vector& operator+=(const Vector& v) {
    x += v.x, y += v.y, z += v.z;
    return *this;
  }
};

inline Vector operator-(const Vector& a, const Vector& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vector operator*(double f, const Vector& v) {
  return {f * v.x, f * v.y, f * v.z};
}
inline double squared(const Vector& v) {
  return v.x * v.x + v.y * v.y + v.z * v.z;
}

}  // namespace thermocline
