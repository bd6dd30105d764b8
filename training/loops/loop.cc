#include "training/loops/loop.h"

#include <map>

namespace thermocline {
namespace {

constexpr std::size_t kMostDims = 8;
constexpr std::int64_t kMostFactor = 1'000'000;  // nothing below overflows
constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMostOffset = std::int64_t{1} << 40;

std::string text_of(const Subscript& s) {
  if (s.kind == Subscript::Kind::kAll) return "*";
  if (s.kind == Subscript::Kind::kUnknown) return "?";
  std::string out;
  for (std::size_t k = 0; k < s.factors.size(); ++k) {
    const std::int64_t factor = s.factors[k];
    if (factor == 0) continue;
    if (factor > 0 && !out.empty()) out += "+";
    if (factor == -1) out += "-";
    if (factor != 1 && factor != -1) out += std::to_string(factor);
    out += static_cast<char>('i' + static_cast<char>(k));
  }
  if (s.offset == 0 && !out.empty()) return out;
  if (s.offset >= 0 && !out.empty()) out += "+";
  return out + std::to_string(s.offset);
}

Status validate_access(const Loop& loop, const ArrayAccess& access,
                       std::map<std::string, std::size_t>& ranks) {
  if (access.array.empty()) {
    return invalid("an access names no array; name the one it reads or writes");
  }
  if (access.at.empty()) {
    return invalid("access of " + access.array +
                   " has no subscripts; give one for each dimension");
  }
  const auto [known, fresh] = ranks.emplace(access.array, access.at.size());
  if (!fresh && known->second != access.at.size()) {
    return invalid(
        text_of(access) + " has " + std::to_string(access.at.size()) +
        " subscripts, elsewhere " + access.array + " has " +
        std::to_string(known->second) + "; an array has as many everywhere");
  }
  for (const Subscript& s : access.at) {
    if (s.offset > kMostOffset || s.offset < -kMostOffset) {
      return invalid(text_of(access) +
                     " has an offset beyond 2^40; begin the array elsewhere");
    }
    if (s.factors.size() > loop.dims()) {
      return invalid(text_of(access) +
                     " uses an index that the loop has not; "
                     "its dimensions are " +
                     std::to_string(loop.dims()));
    }
    for (const std::int64_t factor : s.factors) {
      if (factor > kMostFactor || factor < -kMostFactor) {
        return invalid(text_of(access) + " has a factor beyond " +
                       std::to_string(kMostFactor));
      }
    }
  }
  return {};
}

}  // namespace

Subscript index(std::size_t dim, std::int64_t offset) {
  Subscript out;
  out.factors.resize(dim + 1, 0);
  out.factors[dim] = 1;
  out.offset = offset;
  return out;
}

Subscript constant(std::int64_t value) { return affine({}, value); }

Subscript affine(std::vector<std::int64_t> factors, std::int64_t offset) {
  return {Subscript::Kind::kAffine, std::move(factors), offset};
}

Subscript all() { return {Subscript::Kind::kAll, {}, 0}; }

Subscript unknown() { return {Subscript::Kind::kUnknown, {}, 0}; }

Status validate(const Loop& loop) {
  if (loop.dims() < 1 || loop.dims() > kMostDims) {
    return invalid("a loop has 1 to " + std::to_string(kMostDims) +
                   " dimensions, not " + std::to_string(loop.dims()));
  }
  for (const std::int64_t n : loop.extent) {
    if (n < 1 || n > kMostExtent) {
      return invalid("loop extent " + std::to_string(n) +
                     " is outside [1, 2^32]");
    }
  }
  std::map<std::string, std::size_t> ranks;
  for (const ArrayAccess& access : loop.accesses) {
    if (auto ok = validate_access(loop, access, ranks); !ok) return ok;
  }
  for (std::size_t i = 0; i < loop.points.size(); ++i) {
    const Point& p = loop.points[i];
    bool inside = p.size() == loop.dims();
    for (std::size_t k = 0; inside && k < p.size(); ++k) {
      inside = p[k] >= 0 && p[k] < loop.extent[k];
    }
    if (!inside) {
      return invalid(
          "point " + std::to_string(i) +
          " lies outside of the loop's extent; leave it out, or make "
          "the extent larger");
    }
    if (loop.ordered && i > 0 && !(loop.points[i - 1] < p)) {
      return invalid("point " + std::to_string(i) +
                     " of an ordered loop is not after the one before; sort "
                     "the points, or declare the loop unordered");
    }
  }
  return {};
}

std::string text_of(const ArrayAccess& access) {
  std::string out = access.array + "[";
  for (std::size_t k = 0; k < access.at.size(); ++k) {
    if (k > 0) out += ", ";
    out += text_of(access.at[k]);
  }
  return out + "]";
}

}  // namespace thermocline
