#include "training/parameters/table.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "training/ranks/window_in.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

constexpr auto kEverything = std::numeric_limits<std::int64_t>::max();

// Of the rows that lie with that rank; those of one past the last: all.
std::int64_t first_row(const TableOptions& options, int rank, int ranks) {
  return options.rows * rank / ranks;
}

}  // namespace

ParameterTable::ParameterTable(Ranks& ranks, const TableOptions& options,
                               SendOrder order)
    : ranks_(&ranks),
      options_(options),
      pending_(order, static_cast<std::uint64_t>(options.seed) * 1000 +
                          static_cast<std::uint64_t>(ranks.rank())) {}

std::size_t ParameterTable::row_bytes(const TableOptions& options) {
  return static_cast<std::size_t>(options.columns) * sizeof(float) *
         (options.step > 0 ? 4 : 1);
}

std::size_t ParameterTable::bytes_here(const Ranks& ranks,
                                       const TableOptions& options) {
  const int here = ranks.rank();
  const auto rows = first_row(options, here + 1, ranks.size()) -
                    first_row(options, here, ranks.size());
  return static_cast<std::size_t>(rows) * row_bytes(options);
}

Result<ParameterTable> ParameterTable::make(Ranks& ranks,
                                            const TableOptions& options,
                                            std::span<std::byte> memory) {
  if (options.rows < 1 || options.columns < 1) {
    return invalid("a table of " + std::to_string(options.rows) + " rows and " +
                   std::to_string(options.columns) +
                   " columns holds nothing; give one of each at least");
  }
  if (options.hold < 0 || options.hold > options.staleness) {
    return invalid("hold " + std::to_string(options.hold) +
                   " is outside [0, staleness " +
                   std::to_string(options.staleness) + "]");
  }
  const auto order = send_order(options.order);
  if (!order) return order.error();
  ParameterTable out(ranks, options, *order);
  for (int r = 0; r <= ranks.size(); ++r) {
    out.cuts_.push_back(first_row(options, r, ranks.size()));
  }
  auto window = window_in(ranks, bytes_here(ranks, options), memory);
  if (!window) return window.error().within("table");
  out.window_ = *std::move(window);
  auto clocks = ranks.window(sizeof(std::int64_t));
  if (!clocks) return clocks.error().within("table");
  out.clocks_ = *std::move(clocks);
  if (out.revises()) {
    auto locks = ranks.window(2 * sizeof(std::int64_t));
    if (!locks) return locks.error().within("table");
    out.locks_ = *std::move(locks);
    const std::vector<float> zeros(
        static_cast<std::size_t>(options.rows * options.columns), 0.0F);
    if (auto ok = out.fill(zeros); !ok) return ok.error();
  }
  return out;
}

std::pair<int, std::size_t> ParameterTable::place(std::int64_t row) const {
  CHECK(row >= 0 && row < options_.rows);
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), row);
  const auto rank = static_cast<std::size_t>(after - cuts_.begin() - 1);
  return {static_cast<int>(rank),
          static_cast<std::size_t>(row - cuts_[rank]) * row_bytes()};
}

// The least clock that a rank has announced; waits until it is at_least.
Result<std::int64_t> ParameterTable::announced_by_all(std::int64_t at_least) {
  const auto from = Clock::now();
  for (std::uint64_t turn = 0;; ++turn) {
    std::int64_t least = kEverything;
    int slowest = 0;
    for (int r = 0; r < ranks_->size(); ++r) {
      const std::int64_t theirs = clocks_->fetch_add(r, 0, 0);
      if (theirs < least) slowest = r;
      least = std::min(least, theirs);
    }
    if (least >= at_least) {
      if (turn > 0) stats_.waiting_seconds += seconds_since(from);
      stats_.furthest_ahead = std::max(stats_.furthest_ahead, clock_ - least);
      return least;
    }
    if (seconds_since(from) > options_.wait_seconds) {
      return io("rank " + std::to_string(slowest) + " is at clock " +
                std::to_string(least) + " since " +
                std::to_string(static_cast<int>(options_.wait_seconds)) +
                " s; rank " + std::to_string(ranks_->rank()) + " at clock " +
                std::to_string(clock_) +
                " may not go on without it; it hangs or is gone: see its log, "
                "or raise wait_seconds");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(turn < 50 ? 5 : 100));
  }
}

// Requires: all additions of clocks before `clock` have been flushed.
Status ParameterTable::fetch(const std::vector<std::int64_t>& rows,
                             std::int64_t clock) {
  for (const std::int64_t row : rows) {
    Cached& cached = cache_[row];
    cached.values.resize(row_bytes() / sizeof(float));
    const auto [rank, offset] = place(row);
    if (!revises()) window_->read(rank, offset, cached.values);
    if (heat_) heat_->read(rank, offset, row_bytes());
    stats_.fetched_bytes += static_cast<std::int64_t>(row_bytes());
  }
  auto ok = revises() ? read_revised(rows) : window_->flush();
  if (!ok) return ok.error().within("table");
  for (const std::int64_t row : rows) {
    Cached& cached = cache_[row];
    cached.clock = clock;
    const auto own = pending_.of(row);
    for (std::size_t k = 0; k < own.size(); ++k) cached.values[k] += own[k];
  }
  return {};
}

Result<std::span<const float>> ParameterTable::row(std::int64_t row) {
  Cached& cached = cache_[row];
  const std::int64_t needed = clock_ - options_.staleness;
  if (cached.clock < std::max<std::int64_t>(needed, 0)) {
    if (known_ < needed) {
      const auto least = announced_by_all(needed);
      if (!least) return least.error();
      known_ = *least;
    }
    // Gradients go with the sum that they were computed at: before it changes.
    if (revises()) {
      if (auto ok = send(pending_.take_row(row)); !ok) return ok.error();
    }
    if (auto ok = fetch({row}, known_); !ok) return ok.error();
  }
  return std::span<const float>(cached.values)
      .first(static_cast<std::size_t>(options_.columns));
}

void ParameterTable::add(std::int64_t row, std::span<const float> delta) {
  Cached& cached = cache_[row];
  CHECK(delta.size() == static_cast<std::size_t>(options_.columns) &&
        !cached.values.empty());
  pending_.add(row, delta, std::span(cached.values).first(delta.size()),
               clock_);
  if (revises()) return revise_cached(cached, delta);
  for (std::size_t k = 0; k < delta.size(); ++k) cached.values[k] += delta[k];
}

Status ParameterTable::send(
    const std::vector<PendingUpdates::Update>& updates) {
  for (const auto& update : updates) {
    if (!heat_) break;
    const auto [rank, offset] = place(update.row);
    heat_->changed(rank, offset, row_bytes());
  }
  if (revises()) return revise_rows(updates).within("table");
  for (const auto& update : updates) {
    const auto [rank, offset] = place(update.row);
    window_->add(rank, offset, update.delta);
    stats_.sent_bytes += static_cast<std::int64_t>(row_bytes());
  }
  stats_.rows_sent += static_cast<std::int64_t>(updates.size());
  return window_->flush().within("table");
}

Result<std::int64_t> ParameterTable::communicate(std::int64_t bytes) {
  if (options_.staleness == 0) return std::int64_t{0};
  if (bandwidth_ == nullptr) return communicate_within(bytes);
  const auto granted = bandwidth_->take_now(
      static_cast<Bytes>(std::max<std::int64_t>(0, bytes)));
  const auto used = communicate_within(static_cast<std::int64_t>(granted));
  if (used) bandwidth_->give_back(granted - static_cast<Bytes>(*used));
  return used;
}

void ParameterTable::wait_for_bandwidth(std::size_t rows) {
  if (bandwidth_ != nullptr && rows > 0) bandwidth_->take(rows * row_bytes());
}

Result<std::int64_t> ParameterTable::communicate_within(std::int64_t bytes) {
  // A row is sent and read back; to be revised, it is read before, too.
  const std::size_t each = (revises() ? 3 : 2) * row_bytes();
  const auto rows =
      static_cast<std::size_t>(std::max<std::int64_t>(0, bytes)) / each;
  const auto updates = pending_.take(-1, rows);
  if (updates.empty()) return std::int64_t{0};
  if (auto ok = send(updates); !ok) return ok.error();
  const auto least = announced_by_all(0);
  if (!least) return least.error();
  known_ = *least;
  std::vector<std::int64_t> sent;
  for (const auto& update : updates) sent.push_back(update.row);
  if (auto ok = fetch(sent, known_); !ok) return ok.error();
  return static_cast<std::int64_t>(each * updates.size());
}

// Rank by rank, rows in their order: every bit of the sum is determined.
Status ParameterTable::send_in_turn() {
  for (int r = 0; r < ranks_->size(); ++r) {
    if (auto ok = ranks_->barrier(); !ok) return ok;
    if (r != ranks_->rank()) continue;
    if (auto ok = send(pending_.take(kEverything, 0)); !ok) return ok;
  }
  return ranks_->barrier();
}

Status ParameterTable::tell_heat(AccessListener& listener) {
  auto heat = RowHeat::make(*ranks_, window_->local(), listener);
  if (!heat) return heat.error().within("table");
  heat_.emplace(*std::move(heat));
  return {};
}

Status ParameterTable::tick() {
  if (heat_) {
    if (auto ok = heat_->tell(); !ok) return std::move(ok).within("table");
  }
  ++clock_;
  if (options_.staleness == 0) {
    wait_for_bandwidth(pending_.size());
    const auto from = Clock::now();
    if (auto ok = send_in_turn(); !ok) return ok;
    stats_.waiting_seconds += seconds_since(from);
    known_ = clock_;
    clocks_->fetch_add(ranks_->rank(), 0, 1);
    return {};
  }
  // Additions of clocks up to clock_ - 1 - hold must be out before the clock
  // that promises them is announced.
  const std::int64_t promised = clock_ - options_.hold;
  const auto due = pending_.take(promised - 1, 0);
  wait_for_bandwidth(due.size());
  if (auto ok = send(due); !ok) return ok;
  if (promised > 0) clocks_->fetch_add(ranks_->rank(), 0, 1);
  return {};
}

Result<std::vector<float>> ParameterTable::whole() {
  if (auto ok = send_in_turn(); !ok) return ok.error();
  auto out = now();
  if (auto ok = ranks_->barrier(); !ok) return ok.error();
  return out;
}

Result<std::vector<float>> ParameterTable::now() {
  std::vector<float> out(
      static_cast<std::size_t>(options_.rows * options_.columns));
  for (std::int64_t row = 0; row < options_.rows; ++row) {
    const auto [rank, offset] = place(row);
    const auto columns = static_cast<std::size_t>(options_.columns);
    window_->read(rank, offset,
                  std::span(out).subspan(
                      static_cast<std::size_t>(row) * columns, columns));
  }
  if (auto ok = window_->flush(); !ok) return ok.error();
  return out;
}

Status ParameterTable::fill(const std::vector<float>& values) {
  CHECK(clock_ == 0 && values.size() == static_cast<std::size_t>(
                                            options_.rows * options_.columns));
  if (auto ok = ranks_->barrier(); !ok) return ok;
  const auto columns = static_cast<std::size_t>(options_.columns);
  const auto first =
      static_cast<std::size_t>(cuts_[static_cast<std::size_t>(ranks_->rank())]);
  const auto local = window_->local();
  for (std::size_t row = 0; row * row_bytes() < local.size(); ++row) {
    std::vector<float> whole(row_bytes() / sizeof(float), 1.0F);
    std::copy_n(
        values.begin() + static_cast<std::ptrdiff_t>((first + row) * columns),
        columns, whole.begin());
    // With a step, the sum of gradients is 0, and both z are 1.
    if (revises()) std::fill_n(whole.begin() + options_.columns, columns, 0.0F);
    std::memcpy(local.data() + row * row_bytes(), whole.data(), row_bytes());
  }
  return ranks_->barrier();
}

}  // namespace thermocline
