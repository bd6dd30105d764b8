#include "training/ranks/mpi_ranks.h"

#include <mpi.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "training/ranks/mpi_window.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(const MpiOptions& options) : options_(options) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm host = MPI_COMM_NULL;
    int neighbours = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &host);
    MPI_Comm_size(host, &neighbours);
    MPI_Comm_free(&host);
    spins_ = neighbours <= ::get_nprocs();
    library_.turn.polled = options.poll || neighbours < size_;
    if (library_.turn.polled) poller_ = std::thread([this] { poll(); });
  }
  ~MpiRanks() override {
    arrivals_.reset();
    stop_ = true;
    if (poller_.joinable()) poller_.join();
    const auto lock = library_.turn.take();
    if (library_.failed) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
  }
  // Each rank counts the barriers that it came to; the counts name the late.
  Status open() {
    auto window = this->window(sizeof(std::int64_t));
    if (!window) return window.error();
    arrivals_ = *std::move(window);
    return {};
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    if (arrivals_ != nullptr) arrivals_->fetch_add(rank_, 0, 1);
    {
      const auto lock = library_.turn.take();
      synchronise();
      if (const int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
          code != MPI_SUCCESS) {
        return failed(io("barrier: " + mpi_text(code)));
      }
    }
    if (auto ok = wait(request); !ok) return ok;
    const auto lock = library_.turn.take();
    synchronise();
    return {};
  }

  Result<std::unique_ptr<Window>> window(std::size_t bytes) override {
    return opened(bytes, {}, true);
  }
  Result<std::unique_ptr<Window>> window_over(
      std::span<std::byte> memory) override {
    return opened(memory.size(), memory, false);
  }

  Result<std::vector<std::int64_t>> gather(std::int64_t mine) override {
    std::vector<std::int64_t> out(static_cast<std::size_t>(size_));
    if (auto ok = barrier(); !ok) return ok.error();
    const auto lock = library_.turn.take();
    const int code = MPI_Allgather(&mine, 1, MPI_INT64_T, out.data(), 1,
                                   MPI_INT64_T, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) return failed(io("gather: " + mpi_text(code)));
    return out;
  }

  // MPI_Allreduce may add in any order, which differs with the number of
  // ranks; here each rank sums a slice of all, in order, and the slices are
  // gathered.
  Status sum(std::span<float> values) override {
    if (auto ok = barrier(); !ok) return ok;
    const auto lock = library_.turn.take();
    const auto ranks = static_cast<std::size_t>(size_);
    const std::size_t slice = (values.size() + ranks - 1) / ranks;
    std::vector<float> send(slice * ranks);
    std::copy(values.begin(), values.end(), send.begin());
    std::vector<float> theirs(slice * ranks);
    const int n = mpi_count(slice);
    int code = MPI_Alltoall(send.data(), n, MPI_FLOAT, theirs.data(), n,
                            MPI_FLOAT, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) return failed(io("sum: " + mpi_text(code)));
    std::vector<float> total(slice, 0.0F);
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < slice; ++i) {
        total[i] += theirs[r * slice + i];
      }
    }
    code = MPI_Allgather(total.data(), n, MPI_FLOAT, send.data(), n, MPI_FLOAT,
                         MPI_COMM_WORLD);
    if (code != MPI_SUCCESS) return failed(io("sum: " + mpi_text(code)));
    std::copy_n(send.begin(), values.size(), values.begin());
    return {};
  }

 private:
  Error failed(Error error) {
    library_.failed = true;
    return error;
  }
  void synchronise() {
    for (const MPI_Win win : library_.windows) MPI_Win_sync(win);
  }

  Status wait(MPI_Request& request) {
    const auto from = Clock::now();
    const Polling polling(library_.turn);
    for (std::uint64_t turn = 1;; ++turn) {
      {
        const auto lock = library_.turn.take();
        int done = 0;
        if (const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            code != MPI_SUCCESS) {
          return failed(io("barrier: " + mpi_text(code)));
        }
        if (done != 0) return {};
      }
      if (spins_ || turn < 100) {
        // Over TCP a look takes less time than to give way does.
        const bool looks = spins_ && library_.turn.polled && turn % 64 != 0;
        if (!looks) std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      const std::chrono::duration<double> waited = Clock::now() - from;
      if (waited.count() > options_.barrier_seconds) return failed(late());
    }
  }

  Error late() {
    if (arrivals_ == nullptr) {
      return io("a rank did not come to the end; see what it said");
    }
    std::string missing;
    const std::int64_t here = arrivals_->fetch_add(rank_, 0, 0);
    for (int r = 0; r < size_; ++r) {
      if (arrivals_->fetch_add(r, 0, 0) < here) {
        missing += " " + std::to_string(r);
      }
    }
    return io("rank" + missing + " did not reach the barrier within " +
              std::to_string(static_cast<int>(options_.barrier_seconds)) +
              " s; the job ends");
  }

  Result<std::unique_ptr<Window>> opened(std::size_t bytes,
                                         std::span<std::byte> memory,
                                         bool own) {
    if (auto ok = barrier(); !ok) return ok.error();
    auto out = std::make_unique<MpiWindow>(library_, *this);
    if (auto ok = out->open(bytes, memory, own); !ok) {
      return failed(ok.error());
    }
    if (auto ok = barrier(); !ok) return ok.error();
    return std::unique_ptr<Window>(std::move(out));
  }

  // For the time when the job does not call MPI itself. While it does, this
  // looks seldom, for its wakings cost more than they are worth; but it looks,
  // since to put is not to let others' puts in.
  void poll() {
    using std::chrono::microseconds;
    ::prctl(PR_SET_TIMERSLACK, 1000);  // ns; by default 20 us last 70
    std::uint64_t seen = 0;
    while (!stop_) {
      library_.turn.rest();
      if (const auto lock = library_.turn.try_take(); lock) {
        int flag = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                   MPI_STATUS_IGNORE);
      }
      const auto calls = library_.turn.calls();
      const bool busy = std::exchange(seen, calls) != calls;
      std::this_thread::sleep_for(microseconds(busy ? 200 : 20));
    }
  }

  MpiOptions options_;
  int rank_ = 0;
  int size_ = 1;
  // As Open MPI does where each rank has a core: who waits for the others has
  // nothing else to do, and answers them sooner than one who sleeps.
  bool spins_ = false;
  MpiLibrary library_;
  std::unique_ptr<Window> arrivals_;
  std::atomic<bool> stop_ = false;
  std::thread poller_;
};

}  // namespace

Result<std::unique_ptr<Ranks>> join_mpi(const MpiOptions& options) {
  int started = 0;
  MPI_Initialized(&started);
  CHECK(started == 0);
  // The standard's version says nothing of the library's: traps differ.
  char found[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(found, &length);
  const std::string built = "Open MPI v" + std::to_string(OMPI_MAJOR_VERSION) +
                            "." + std::to_string(OMPI_MINOR_VERSION) + ".";
  if (std::string_view(found).substr(0, built.size()) != built) {
    const std::string_view line(found, std::strcspn(found, ",\n"));
    return unsupported("built with " + built + "x, but this is " +
                       std::string(line) +
                       "; install openmpi-bin and libopenmpi3 of the version "
                       "that it was built with, or build it again");
  }
  // With one rank alone, the component osc rdma is chosen and then refuses
  // memory of the caller's (4.1.4: it finds no transport to itself).
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr || std::strcmp(size, "1") == 0) {
    setenv("OMPI_MCA_osc", "^rdma", /*overwrite=*/0);
  }
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) !=
          MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    return unsupported(
        "this MPI does not let one thread after another call it; "
        "install openmpi-bin 4.1");
  }
  auto out = std::make_unique<MpiRanks>(options);
  if (auto ok = out->open(); !ok) return ok.error();
  return std::unique_ptr<Ranks>(std::move(out));
}

}  // namespace thermocline
