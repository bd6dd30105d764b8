#include "training/loops/shared_array.h"

#include <algorithm>
#include <cstring>

#include "training/ranks/window_in.h"

namespace thermocline {

bool Box::holds(std::span<const std::int64_t> at) const {
  if (at.size() != low.size()) return false;
  for (std::size_t k = 0; k < at.size(); ++k) {
    if (at[k] < low[k] || at[k] > high[k]) return false;
  }
  return true;
}

std::size_t Box::offset(std::span<const std::int64_t> at) const {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < at.size(); ++k) {
    out = out * side(k) + (at[k] - low[k]);
  }
  return static_cast<std::size_t>(out);
}

Result<SharedArray> SharedArray::make(Ranks& ranks, std::string name,
                                      std::vector<std::int64_t> shape,
                                      std::vector<std::int64_t> cuts,
                                      std::span<std::byte> memory) {
  SharedArray out;
  for (const std::int64_t n : shape) {
    if (n < 1) {
      return invalid("array " + name + " has a side of length " +
                     std::to_string(n) + "; give 1 or more");
    }
  }
  if (shape.empty()) {
    return invalid("array " + name + " has no dimensions; give its shape");
  }
  const auto count = static_cast<std::size_t>(ranks.size());
  if (cuts.empty()) {
    for (int r = 0; r <= ranks.size(); ++r) {
      cuts.push_back(shape[0] * r / ranks.size());
    }
  }
  if (cuts.size() != count + 1 || cuts.front() != 0 ||
      cuts.back() != shape[0] || !std::is_sorted(cuts.begin(), cuts.end())) {
    return invalid("array " + name + ": the cuts do not divide its " +
                   std::to_string(shape[0]) + " rows among " +
                   std::to_string(count) +
                   " ranks; give one cut more than ranks, from 0 up to the "
                   "rows");
  }
  for (std::size_t k = 1; k < shape.size(); ++k) out.row_ *= shape[k];
  const auto me = static_cast<std::size_t>(ranks.rank());
  const std::size_t bytes =
      static_cast<std::size_t>((cuts[me + 1] - cuts[me]) * out.row_) *
      sizeof(float);
  auto window = window_in(ranks, bytes, memory);
  if (!window) return window.error().within("array " + name);
  out.ranks_ = &ranks;
  out.name_ = std::move(name);
  out.shape_ = std::move(shape);
  out.cuts_ = std::move(cuts);
  out.window_ = *std::move(window);
  return out;
}

SharedArray::Place SharedArray::place(std::int64_t element) const {
  const std::int64_t row = element / row_;
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), row);
  const auto rank = after - cuts_.begin() - 1;
  const std::int64_t first = cuts_[static_cast<std::size_t>(rank)] * row_;
  return {static_cast<int>(rank),
          static_cast<std::size_t>(element - first) * sizeof(float)};
}

void SharedArray::count(int rank, std::size_t bytes) {
  if (rank != ranks_->rank()) {
    remote_bytes_ += static_cast<std::int64_t>(bytes);
  }
}

// Calls action(place, offset in the box, elements) for each piece of the
// rectangle that lies in one run with one rank.
template <typename Action>
void SharedArray::each_run(const Box& box, Action&& action) const {
  // Trailing dimensions that are whole join into one run.
  std::size_t joined = shape_.size() - 1;
  std::int64_t run = box.side(joined);
  while (joined > 0 && box.side(joined) == shape_[joined]) {
    --joined;
    run *= box.side(joined);
  }
  std::vector<std::int64_t> at = box.low;
  std::size_t offset = 0;
  for (;;) {
    std::int64_t element = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      element = element * shape_[k] + at[k];
    }
    // Rows of several ranks may be in it.
    for (std::int64_t left = run; left > 0;) {
      const Place where = place(element);
      const std::int64_t end =
          cuts_[static_cast<std::size_t>(where.rank) + 1] * row_;
      const std::int64_t piece = std::min(left, end - element);
      action(where, offset, static_cast<std::size_t>(piece));
      offset += static_cast<std::size_t>(piece);
      element += piece;
      left -= piece;
    }
    std::size_t k = joined;
    while (k > 0 && ++at[k - 1] > box.high[k - 1]) {
      at[k - 1] = box.low[k - 1];
      --k;
    }
    if (k == 0) return;
  }
}

std::vector<std::span<const std::byte>> SharedArray::here(
    const Box& box) const {
  std::vector<std::span<const std::byte>> out;
  for (std::size_t k = 0; k < shape_.size(); ++k) {
    if (box.high[k] < box.low[k]) return out;
  }
  const std::span<const std::byte> local = window_->local();
  each_run(box, [&](Place where, std::size_t, std::size_t elements) {
    if (where.rank != ranks_->rank()) return;
    out.push_back(local.subspan(where.byte, elements * sizeof(float)));
  });
  return out;
}

Status SharedArray::fetch(Box& box) {
  std::int64_t size = 1;
  CHECK(box.low.size() == shape_.size());
  for (std::size_t k = 0; k < shape_.size(); ++k) {
    CHECK(box.low[k] >= 0 && box.high[k] < shape_[k]);
    size *= std::max<std::int64_t>(0, box.side(k));
  }
  box.values.resize(static_cast<std::size_t>(size));
  if (size > 0) {
    each_run(box, [&](Place where, std::size_t offset, std::size_t elements) {
      const auto to = std::span(box.values).subspan(offset, elements);
      window_->get(where.rank, where.byte, std::as_writable_bytes(to));
      count(where.rank, to.size_bytes());
    });
  }
  if (auto ok = window_->flush(); !ok) return std::move(ok).within(name_);
  box.before = box.values;
  return {};
}

Status SharedArray::put_changes(Box& box) {
  const auto same = [&box](std::size_t i) {
    return std::memcmp(&box.values[i], &box.before[i], sizeof(float)) == 0;
  };
  if (box.values.empty()) return {};
  each_run(box, [&](Place where, std::size_t offset, std::size_t elements) {
    for (std::size_t i = 0; i < elements;) {
      if (same(offset + i)) {
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      while (end < elements && !same(offset + end)) ++end;
      const auto from =
          std::as_bytes(std::span(box.values).subspan(offset + i, end - i));
      window_->put(where.rank, where.byte + i * sizeof(float), from);
      count(where.rank, from.size());
      i = end;
    }
  });
  return window_->flush().within(name_);
}

Status SharedArray::add(
    const std::vector<std::pair<std::int64_t, float>>& deltas) {
  std::vector<float> values(deltas.size());
  const auto each = [&](auto&& action) {
    for (std::size_t i = 0; i < deltas.size(); ++i) {
      const Place where = place(deltas[i].first);
      action(where, std::span(values).subspan(i, 1));
      count(where.rank, sizeof(float));
    }
    return window_->flush().within(name_);
  };
  auto got = each([&](Place where, std::span<float> one) {
    window_->get(where.rank, where.byte, std::as_writable_bytes(one));
  });
  if (!got) return got;
  for (std::size_t i = 0; i < deltas.size(); ++i) values[i] += deltas[i].second;
  return each([&](Place where, std::span<float> one) {
    window_->put(where.rank, where.byte, std::as_bytes(one));
  });
}

Status SharedArray::fill(const std::vector<float>& values) {
  const auto me = static_cast<std::size_t>(ranks_->rank());
  const auto first = static_cast<std::size_t>(cuts_[me] * row_);
  const std::size_t bytes = window_->local().size();
  CHECK(values.size() == static_cast<std::size_t>(shape_[0] * row_));
  if (auto ok = ranks_->barrier(); !ok) return ok;
  if (bytes > 0) {
    std::memcpy(window_->local().data(), values.data() + first, bytes);
  }
  return ranks_->barrier();
}

Result<std::vector<float>> SharedArray::whole() {
  if (auto ok = ranks_->barrier(); !ok) return ok.error();
  Box box;
  box.low.assign(shape_.size(), 0);
  for (const std::int64_t n : shape_) box.high.push_back(n - 1);
  const std::int64_t counted = remote_bytes_;
  if (auto ok = fetch(box); !ok) return ok.error();
  remote_bytes_ = counted;
  if (auto ok = ranks_->barrier(); !ok) return ok.error();
  return box.values;
}

}  // namespace thermocline
