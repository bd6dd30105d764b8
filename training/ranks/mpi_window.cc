#include "training/ranks/mpi_window.h"

#include <cstring>

namespace thermocline {

std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

int mpi_count(std::size_t n) {
  CHECK(n <= 0x7fffffff);
  return static_cast<int>(n);
}

MpiWindow::~MpiWindow() {
  // Freeing waits for all ranks without a limit: meet them first.
  if (win_ == MPI_WIN_NULL || library_.failed || !ranks_.barrier()) return;
  const auto lock = library_.turn.take();
  start_waiting();
  MPI_Win_unlock_all(win_);
  std::erase(library_.windows, win_);
  MPI_Win_free(&win_);
}

Status MpiWindow::open(std::size_t bytes, std::span<std::byte> memory,
                       bool own) {
  const auto lock = library_.turn.take();
  int code = 0;
  if (own) {
    void* base = nullptr;
    code = MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                            MPI_COMM_WORLD, &base, &win_);
    local_ = {static_cast<std::byte*>(base), bytes};
  } else {
    code = MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()),
                          1, MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
    local_ = memory;
  }
  if (code != MPI_SUCCESS) {
    win_ = MPI_WIN_NULL;
    return io("cannot open a window of " + std::to_string(local_.size()) +
              " bytes: " + mpi_text(code));
  }
  MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win_);
  if (own && bytes > 0) std::memset(local_.data(), 0, bytes);
  MPI_Win_sync(win_);
  library_.windows.push_back(win_);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sizes_.resize(static_cast<std::size_t>(ranks));
  const auto mine = static_cast<std::uint64_t>(local_.size());
  code = MPI_Allgather(&mine, 1, MPI_UINT64_T, sizes_.data(), 1, MPI_UINT64_T,
                       MPI_COMM_WORLD);
  if (code != MPI_SUCCESS) return io("sizes of a window: " + mpi_text(code));
  return {};
}

void MpiWindow::check(int rank, std::size_t offset, std::size_t bytes) const {
  CHECK(rank >= 0 && static_cast<std::size_t>(rank) < sizes_.size());
  const std::uint64_t size = sizes_[static_cast<std::size_t>(rank)];
  CHECK(offset <= size && bytes <= size - offset);
}

// On one host a put of 64 bytes takes 20 ns, so the choice of the call is to be
// the compiler's: inline, the kind is known.
[[gnu::always_inline]] inline void MpiWindow::start_now(const Operation& one) {
  const auto at = static_cast<MPI_Aint>(one.offset);
  if (one.kind == Kind::kPut || one.kind == Kind::kGet) {
    const int n = mpi_count(one.bytes);
    keep(one.kind == Kind::kPut
             ? MPI_Put(one.from, n, MPI_BYTE, one.rank, at, n, MPI_BYTE, win_)
             : MPI_Get(one.to, n, MPI_BYTE, one.rank, at, n, MPI_BYTE, win_));
    return;
  }
  const int n = mpi_count(one.bytes / sizeof(float));
  keep(one.kind == Kind::kAdd
           ? MPI_Accumulate(one.from, n, MPI_FLOAT, one.rank, at, n, MPI_FLOAT,
                            MPI_SUM, win_)
           : MPI_Get_accumulate(nullptr, 0, MPI_FLOAT, one.to, n, MPI_FLOAT,
                                one.rank, at, n, MPI_FLOAT, MPI_NO_OP, win_));
}

void MpiWindow::start_waiting() {
  for (const Operation& one : waiting_) start_now(one);
  waiting_.clear();
}

// Where a thread polls, to get the turn costs as much as to start a small
// operation: some of them wait for the next ones, and go in one turn.
[[gnu::always_inline]] inline void MpiWindow::start(const Operation& one) {
  constexpr std::size_t kSmall = 1024;
  constexpr std::size_t kMostWaiting = 64;
  check(one.rank, one.offset, one.bytes);
  if (!library_.turn.polled) return start_now(one);
  if (one.bytes <= kSmall) {
    waiting_.push_back(one);
    if (waiting_.size() < kMostWaiting) return;
    const auto lock = library_.turn.take();
    return start_waiting();
  }
  const auto lock = library_.turn.take();
  start_waiting();
  start_now(one);
}

void MpiWindow::put(int rank, std::size_t offset,
                    std::span<const std::byte> from) {
  start({Kind::kPut, rank, offset, from.data(), nullptr, from.size()});
}
void MpiWindow::get(int rank, std::size_t offset, std::span<std::byte> to) {
  start({Kind::kGet, rank, offset, nullptr, to.data(), to.size()});
}
void MpiWindow::add(int rank, std::size_t offset,
                    std::span<const float> delta) {
  start({Kind::kAdd, rank, offset, delta.data(), nullptr, delta.size_bytes()});
}
void MpiWindow::read(int rank, std::size_t offset, std::span<float> to) {
  start({Kind::kRead, rank, offset, nullptr, to.data(), to.size_bytes()});
}

std::int64_t MpiWindow::fetch_add(int rank, std::size_t offset,
                                  std::int64_t delta) {
  check(rank, offset, sizeof delta);
  const auto lock = library_.turn.take();
  start_waiting();
  std::int64_t before = 0;
  keep(MPI_Fetch_and_op(&delta, &before, MPI_INT64_T, rank,
                        static_cast<MPI_Aint>(offset), MPI_SUM, win_));
  keep(MPI_Win_flush(rank, win_));
  return before;
}

Status MpiWindow::flush() {
  const auto lock = library_.turn.take();
  start_waiting();
  keep(MPI_Win_flush_all(win_));
  if (error_ == MPI_SUCCESS) return {};
  const int code = error_;
  error_ = MPI_SUCCESS;
  return io("one-sided operation: " + mpi_text(code));
}

}  // namespace thermocline
