// ParameterTable: rows of floats that all ranks read and add to, no staler
// than was asked for.
//
// A rank counts its clock up when a piece of work is done. What it reads at
// clock c has in it every rank's additions of clocks before c - staleness, and
// its own at once. Between clocks, communicate() sends what matters most while
// a budget lasts; what the bound needs is sent in any case. With staleness 0
// ranks meet at each clock and additions are applied rank by rank: the result
// has the bits of a serial reference.
//
// With `step`, what is added are gradients: a row's parameters move by
// AdaRevision (adarevision.h), told how old a gradient is by the sum of all
// that its rank had seen. There is no server that could do it, so the rank that
// sends changes the row in place, under a lock of the rank where it lies.
//
// Rows lie in windows, row i with rank i * ranks / rows; over memory of the
// caller's choice if need be. Thread safety: one thread per rank. Source: after
// stale synchronous parallel (Ho et al., NIPS 2013) and Boesen (SoCC 2015); by
// one-sided operations there is no server that could push, so a rank refreshes
// the rows that it sends.
#pragma once

#include <map>
#include <optional>

#include "training/bandwidth.h"
#include "training/parameters/pending.h"
#include "training/parameters/row_heat.h"
#include "training/ranks/ranks.h"

namespace thermocline {

struct TableOptions {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t staleness = 0;
  // Clocks for which an addition may wait to be sent; the rest of the
  // staleness is for ranks that are slow. At most `staleness`.
  std::int64_t hold = 0;
  std::int64_t seed = 1;
  std::string order = "magnitude";
  double step = 0;
  double wait_seconds = 60;
  void fields(auto& f) {
    constexpr auto kMost = std::int64_t{1} << 40;
    f("rows", rows, std::int64_t{1}, kMost, "rows of the table");
    f("columns", columns, std::int64_t{1}, kMost, "floats in a row");
    f("staleness", staleness, std::int64_t{0}, kMost,
      "clocks by which what is read may lag; 0: bulk synchronous");
    f("hold", hold, std::int64_t{0}, kMost,
      "clocks for which an addition may wait to be sent");
    f("seed", seed, std::int64_t{0}, kMost, "of the order \"random\"");
    f("order", order, "what is sent first: magnitude, change, fifo or random");
    f("step", step, 0.0, 1e6,
      "learning rate of AdaRevision; 0: what is added is added");
    f("wait_seconds", wait_seconds, 0.0, 1e6, "for a rank that is slow");
  }
};

struct TableStats {
  std::int64_t sent_bytes = 0;     // additions, also to rows of one's own
  std::int64_t fetched_bytes = 0;  // rows read from windows
  std::int64_t rows_sent = 0;
  std::int64_t furthest_ahead = 0;  // clocks before the slowest rank
  double waiting_seconds = 0;
};

class ParameterTable {
 public:
  /// All ranks together. `memory`: where this rank's rows lie (window_in.h).
  /// Errors: kInvalid (options, too little memory), kNotFound (order), kIo.
  static Result<ParameterTable> make(Ranks& ranks, const TableOptions& options,
                                     std::span<std::byte> memory = {});
  /// Bytes of the rows that lie with this rank.
  static std::size_t bytes_here(const Ranks& ranks,
                                const TableOptions& options);

  std::int64_t clock() const { return clock_; }

  /// The row as this rank sees it, until the next call. Waits for ranks that
  /// lag too far. Errors: kIo when one stays behind for wait_seconds.
  Result<std::span<const float>> row(std::int64_t row);
  /// Adds to a row that was read in this clock, or takes a gradient of it.
  /// Requires: as many columns.
  void add(std::int64_t row, std::span<const float> delta);
  /// Sends the most important additions while they fit into `bytes`, and
  /// reads those rows anew. Nothing with staleness 0. Returns bytes used.
  Result<std::int64_t> communicate(std::int64_t bytes);
  /// Ends this clock: sends what the bound asks for. Collective if staleness
  /// is 0.
  Status tick();

  /// From now on the listener is told, at clocks, how often all ranks read and
  /// change the rows that lie here: row importance as heat. A daemon moves only
  /// memory that is the process's own, so give make() some. Collective.
  Status tell_heat(AccessListener& listener);

  /// From now on, what communicate() may use is what the bandwidth has left at
  /// the time, and what the bound asks for waits for its turn. `bandwidth`
  /// outlives the table.
  void share(Bandwidth& bandwidth) { bandwidth_ = &bandwidth; }

  /// The whole table with all additions. Collective; sends everything first.
  Result<std::vector<float>> whole();
  /// The rows as they are with their ranks, without what waits. Not counted.
  Result<std::vector<float>> now();
  /// Sets all values, before the first clock. Collective.
  Status fill(const std::vector<float>& values);

  const TableStats& stats() const { return stats_; }

 private:
  struct Cached {
    std::vector<float> values;  // with a step: and AdaRevision's state
    std::vector<float> seen;    // with a step: the sum as it was fetched
    std::int64_t clock = -1;    // all additions of clocks before it are in it
  };
  ParameterTable(Ranks& ranks, const TableOptions& options, SendOrder order);
  std::size_t row_bytes() const { return row_bytes(options_); }
  static std::size_t row_bytes(const TableOptions& options);
  std::pair<int, std::size_t> place(std::int64_t row) const;
  Result<std::int64_t> announced_by_all(std::int64_t at_least);
  Status fetch(const std::vector<std::int64_t>& rows, std::int64_t clock);
  Status send(const std::vector<PendingUpdates::Update>& updates);
  Result<std::int64_t> communicate_within(std::int64_t bytes);
  void wait_for_bandwidth(std::size_t rows);
  Status send_in_turn();
  // table_revision.cc: what differs with a step.
  bool revises() const { return options_.step > 0; }
  Status lock(int rank);
  void unlock(int rank);
  Status revise_rows(std::vector<PendingUpdates::Update> updates);
  Status read_revised(std::vector<std::int64_t> rows);
  void revise_cached(Cached& cached, std::span<const float> gradient) const;

  Ranks* ranks_;
  TableOptions options_;
  std::vector<std::int64_t> cuts_;
  std::unique_ptr<Window> window_;
  std::unique_ptr<Window> clocks_;
  std::unique_ptr<Window> locks_;  // with a step: tickets, and who is served
  std::int64_t clock_ = 0;
  std::int64_t known_ = 0;  // that all ranks have announced
  std::map<std::int64_t, Cached> cache_;
  PendingUpdates pending_;
  std::optional<RowHeat> heat_;
  Bandwidth* bandwidth_ = nullptr;
  TableStats stats_;
};

}  // namespace thermocline
