#include "training/background_saver.h"

#include <algorithm>
#include <chrono>

#include "training/copy_pieces.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Bytes aligned(Bytes bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<std::optional<Saved>> BackgroundSaver::wait() {
  if (thread_.joinable()) thread_.join();
  if (!outcome_) return std::optional<Saved>();
  const auto outcome = std::exchange(outcome_, std::nullopt);
  if (!*outcome) return outcome->error();
  return std::optional<Saved>(**outcome);
}

void BackgroundSaver::snapshot(std::span<const Piece> pieces) {
  Bytes bytes = 0;
  for (const Piece& piece : pieces) bytes += aligned(piece.bytes.size());
  if (bytes > copy_bytes_) {
    copy_.reset();  // before the new one: never both
    copy_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
    copy_bytes_ = bytes;
  }
  pieces_.assign(pieces.begin(), pieces.end());
  std::vector<PieceCopy> copies;
  Bytes at = 0;
  for (Piece& piece : pieces_) {
    copies.push_back({copy_.get() + at, piece.bytes});
    piece.bytes = {copy_.get() + at, piece.bytes.size()};
    at += aligned(piece.bytes.size());
  }
  copy_pieces(copies, threads_);
}

Result<BackgroundSaver::Begun> BackgroundSaver::begin(
    std::span<const Piece> pieces, std::uint64_t step) {
  const auto start = Clock::now();
  Begun out;
  const auto before = wait();
  if (!before) return before.error();
  if (*before) out.before_full_s = full_s_;
  out.waited_s = since(start);
  const auto begun = Clock::now();
  snapshot(pieces);
  out.snapshot_s = since(begun);
  thread_ = std::jthread([this, step, begun] {
    outcome_ = pool_.save(pieces_, step);
    full_s_ = since(begun);
  });
  return out;
}

}  // namespace thermocline
