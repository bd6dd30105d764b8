#include "training/background_saver.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Bytes aligned(Bytes bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<std::optional<Saved>> BackgroundSaver::outcome() {
  if (thread_.joinable()) thread_.join();
  if (!outcome_) return std::optional<Saved>();
  const auto outcome = std::exchange(outcome_, std::nullopt);
  if (!*outcome) return outcome->error();
  finished_ = Finished{held_s_, full_s_};
  return std::optional<Saved>(**outcome);
}

Result<std::optional<Saved>> BackgroundSaver::wait() {
  owed_ = false;
  return outcome();
}

Result<std::optional<BackgroundSaver::Finished>> BackgroundSaver::finished() {
  if (thread_.joinable() && done_.load(std::memory_order_acquire)) {
    if (const auto ended = outcome(); !ended) return ended.error();
  }
  return std::exchange(finished_, std::nullopt);
}

double BackgroundSaver::before_update() {
  owed_ = false;
  if (copied_.load(std::memory_order_acquire)) return 0;
  const auto start = Clock::now();
  copied_.wait(false, std::memory_order_acquire);
  const double waited_s = since(start);
  held_s_ += waited_s;
  return waited_s;
}

// Views of the copy in pieces_, and what is to be copied there.
BackgroundSaver::Copies BackgroundSaver::make_room(
    std::span<const Piece> pieces) {
  Bytes bytes = 0;
  for (const Piece& piece : pieces) bytes += aligned(piece.bytes.size());
  if (bytes > copy_bytes_) {
    copy_.reset();  // before the new one: never both
    copy_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    copy_bytes_ = bytes;
  }
  pieces_.assign(pieces.begin(), pieces.end());
  Copies out;
  Bytes at = 0;
  for (Piece& piece : pieces_) {
    (piece.steady ? out.later : out.now)
        .push_back({copy_.get() + at, piece.bytes});
    piece.bytes = {copy_.get() + at, piece.bytes.size()};
    at += aligned(piece.bytes.size());
  }
  return out;
}

Result<BackgroundSaver::Begun> BackgroundSaver::begin(
    std::span<const Piece> pieces, std::uint64_t step) {
  return begin(pieces, nullptr, step);
}

Result<BackgroundSaver::Begun> BackgroundSaver::begin_beside(
    const LivePieces& live, std::uint64_t step) {
  CHECK(live.unchanged);
  return begin(live.pieces, live.unchanged, step);
}

Result<BackgroundSaver::Begun> BackgroundSaver::begin(
    std::span<const Piece> pieces, std::function<Status()> unchanged,
    std::uint64_t step) {
  const auto start = Clock::now();
  Begun out;
  const bool forgotten = std::exchange(owed_, false);
  const auto before = outcome();
  if (!before) return before.error();
  if (forgotten) {
    return invalid(
        "the state was saved beside the training, which did not say "
        "before_update(); call it before each update, or that checkpoint is "
        "of no one step");
  }
  out.waited_s = since(start);
  const auto begun = Clock::now();
  Copies copies = make_room(pieces);
  const bool beside = unchanged != nullptr;
  if (!beside) std::ranges::move(copies.later, std::back_inserter(copies.now));
  copy_pieces(copies.now, threads_);
  out.snapshot_s = held_s_ = since(begun);
  done_.store(false, std::memory_order_relaxed);
  owed_ = beside;
  copied_.store(!beside, std::memory_order_relaxed);
  thread_ = std::jthread([this, step, begun, later = std::move(copies.later),
                          unchanged = std::move(unchanged)]() mutable {
    Status whole;
    if (unchanged) {
      copy_pieces(later, threads_);
      whole = unchanged();
      unchanged = nullptr;  // the state's owners may go
      copied_.store(true, std::memory_order_release);
      copied_.notify_all();
    }
    if (whole) outcome_ = pool_.save(pieces_, step);
    if (!whole) outcome_ = whole.error();
    full_s_ = since(begun);
    done_.store(true, std::memory_order_release);
  });
  return out;
}

}  // namespace thermocline
