// SharedArray: an array of floats whose rows lie in windows of all ranks.
//
// Row-major; the first dimension is cut among the ranks. A rank works on a Box,
// a copy of a rectangle, and puts back what it changed. Thread safety: one
// thread per rank. Errors: of the windows.
#pragma once

#include <string>

#include "training/ranks/ranks.h"

namespace thermocline {

// A rectangle of an array, copied. Empty if any side is.
struct Box {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;  // included
  std::vector<float> values;       // row-major
  std::vector<float> before;       // as they were fetched

  std::int64_t side(std::size_t k) const { return high[k] - low[k] + 1; }
  bool holds(std::span<const std::int64_t> at) const;
  /// Requires: holds(at).
  std::size_t offset(std::span<const std::int64_t> at) const;
};

class SharedArray {
 public:
  /// All ranks together. The rows [cuts[r], cuts[r + 1]) lie with rank r; no
  /// cuts: equal parts. `memory`: where this rank's lie (window_in.h). Values
  /// begin at zero, or as they are in `memory`. Errors: kInvalid (shape, too
  /// little memory), kIo.
  static Result<SharedArray> make(Ranks& ranks, std::string name,
                                  std::vector<std::int64_t> shape,
                                  std::vector<std::int64_t> cuts = {},
                                  std::span<std::byte> memory = {});

  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }

  /// Fetches the rectangle's values. Requires: it lies within the shape.
  Status fetch(Box& box);
  /// Puts back the values that differ from what was fetched, bit for bit.
  Status put_changes(Box& box);
  /// Adds to elements, by their place in row-major order. No other rank may
  /// use them meanwhile.
  Status add(const std::vector<std::pair<std::int64_t, float>>& deltas);

  /// The whole array: for setting up and reading results, between barriers.
  Status fill(const std::vector<float>& values);
  Result<std::vector<float>> whole();

  /// The memory of this rank's rows that a rectangle touches.
  std::vector<std::span<const std::byte>> here(const Box& box) const;

  /// Bytes that went to or came from other ranks.
  std::int64_t remote_bytes() const { return remote_bytes_; }

 private:
  struct Place {
    int rank = 0;
    std::size_t byte = 0;
  };
  Place place(std::int64_t element) const;
  void count(int rank, std::size_t bytes);
  template <typename Action>
  void each_run(const Box& box, Action&& action) const;

  Ranks* ranks_ = nullptr;
  std::string name_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> cuts_;
  std::int64_t row_ = 1;  // elements of a row
  std::unique_ptr<Window> window_;
  std::int64_t remote_bytes_ = 0;
};

}  // namespace thermocline
