// ParameterTable with a step: rows that move by AdaRevision, changed in place
// by the rank that sends. A lock is a pair of counters, one addition to take a
// ticket and one to serve the next: it needs nobody's help, and is fair.
#include <algorithm>
#include <chrono>
#include <thread>

#include "training/parameters/adarevision.h"
#include "training/parameters/table.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTicket = 0;
constexpr std::size_t kServed = sizeof(std::int64_t);

// A row: its parameters, and the three parts of its state.
std::span<float> part(std::vector<float>& row, std::size_t which) {
  const std::size_t columns = row.size() / 4;
  return std::span(row).subspan(which * columns, columns);
}

RevisionState state_of(std::vector<float>& row) {
  return {part(row, 1), part(row, 2), part(row, 3)};
}

}  // namespace

Status ParameterTable::lock(int rank) {
  const auto from = Clock::now();
  const std::int64_t ticket = locks_->fetch_add(rank, kTicket, 1);
  while (locks_->fetch_add(rank, kServed, 0) != ticket) {
    const std::chrono::duration<double> waited = Clock::now() - from;
    if (waited.count() > options_.wait_seconds) {
      return io("a rank holds the rows of rank " + std::to_string(rank) +
                " since " +
                std::to_string(static_cast<int>(options_.wait_seconds)) +
                " s; it hangs or is gone: see its log, or raise wait_seconds");
    }
    std::this_thread::yield();
  }
  return {};
}

void ParameterTable::unlock(int rank) { locks_->fetch_add(rank, kServed, 1); }

// Rows of one rank under one lock: what costs is the way there and back.
Status ParameterTable::revise_rows(
    std::vector<PendingUpdates::Update> updates) {
  std::sort(updates.begin(), updates.end(),
            [](const auto& a, const auto& b) { return a.row < b.row; });
  for (auto first = updates.begin(); first != updates.end();) {
    const int rank = place(first->row).first;
    const auto last = std::find_if(first, updates.end(), [&](const auto& one) {
      return place(one.row).first != rank;
    });
    if (auto ok = lock(rank); !ok) return ok;
    std::vector<std::vector<float>> rows;
    for (auto at = first; at != last; ++at) {
      rows.emplace_back(row_bytes() / sizeof(float));
      window_->read(rank, place(at->row).second, rows.back());
    }
    auto ok = window_->flush();
    for (auto at = first; ok && at != last; ++at) {
      auto& row = rows[static_cast<std::size_t>(at - first)];
      Cached& cached = cache_[at->row];
      revise(static_cast<float>(options_.step), at->delta, cached.seen,
             part(row, 0), state_of(row));
      window_->put(rank, place(at->row).second, bytes_of(row));
      // What comes after it was computed knowing it.
      for (std::size_t k = 0; k < cached.seen.size(); ++k) {
        cached.seen[k] += at->delta[k];
      }
    }
    if (ok) ok = window_->flush();
    unlock(rank);
    if (!ok) return ok;
    first = last;
  }
  const auto bytes = static_cast<std::int64_t>(row_bytes() * updates.size());
  stats_.fetched_bytes += bytes;
  stats_.sent_bytes += bytes;
  stats_.rows_sent += static_cast<std::int64_t>(updates.size());
  return {};
}

// Each row's parameters and sum are of the same moment.
Status ParameterTable::read_revised(std::vector<std::int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  for (auto first = rows.begin(); first != rows.end();) {
    const int rank = place(*first).first;
    const auto last = std::find_if(first, rows.end(), [&](std::int64_t row) {
      return place(row).first != rank;
    });
    if (auto ok = lock(rank); !ok) return ok;
    for (auto at = first; at != last; ++at) {
      window_->read(rank, place(*at).second, cache_[*at].values);
    }
    auto ok = window_->flush();
    unlock(rank);
    if (!ok) return ok;
    for (; first != last; ++first) {
      Cached& cached = cache_[*first];
      const auto sum = part(cached.values, 1);
      cached.seen.assign(sum.begin(), sum.end());
    }
  }
  return {};
}

// As if it had been sent at once, and nobody else had sent anything.
void ParameterTable::revise_cached(Cached& cached,
                                   std::span<const float> gradient) const {
  const auto sum = part(cached.values, 1);
  const std::vector<float> seen(sum.begin(), sum.end());
  revise(static_cast<float>(options_.step), gradient, seen,
         part(cached.values, 0), state_of(cached.values));
}

}  // namespace thermocline
