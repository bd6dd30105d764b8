// checkpoint_bench: what a checkpoint costs, against what else could be done.
//
//   checkpoint_bench [--mib N] [--repeats N] [--threads N] [--disk DIR]
//                    [--memory DIR]
//
// Every ratio is of medians of runs that took turns in this process. All of
// the state changes before each save, and nothing is skipped, but where the
// row says so.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "tests/training/pool_folder.h"
#include "tests/training/torch/jobs.h"
#include "traces/libtorch.h"
#include "training/background_saver.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::int64_t mib = 128;
  int repeats = 9, threads = 2;
  std::string disk = "/var/tmp", memory = "/dev/shm";
};

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

// Each in turn, in an order thrown anew each time, for one leaves the caches to
// the next; `repeats` times after one that does not count. Returns: the
// medians.
std::vector<double> in_turns(int repeats,
                             const std::vector<std::function<void()>>& work,
                             const std::function<void()>& between) {
  std::vector<std::vector<double>> times(work.size());
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (int r = -1; r < repeats; ++r) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      between();
      const double took = seconds_of(work[i]);
      if (r >= 0) times[i].push_back(took);
    }
  }
  std::vector<double> out;
  for (auto& one : times) out.push_back(median(std::move(one)));
  return out;
}

void sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && ::fsync(file) == 0);
  ::close(file);
}

// No run pays for what the one before it left to the file system: blocks of a
// file that was cut short are given up at the next commit of its journal, and
// the disk is told (discard).
void settle(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(descriptor >= 0 && ::syncfs(descriptor) == 0);
  ::close(descriptor);
}

// `goal`: how many times as fast it is to be; 0: none is set.
void print(const char* what, double ours, const char* other, double theirs,
           Bytes bytes, double goal) {
  std::printf("%-26s %8.2f ms %6.2f GB/s   %-24s %8.2f ms %7.2fx", what,
              ours * 1e3, static_cast<double>(bytes) / ours / 1e9, other,
              theirs * 1e3, theirs / ours);
  if (goal > 0) {
    std::printf("   goal %.1fx: %s", goal,
                theirs / ours >= goal ? "met" : "MISSED");
  }
  std::printf("\n");
  std::fflush(stdout);
}

struct Tensors {
  std::vector<torch::Tensor> all;
  TrainingState state;
  std::vector<Piece> pieces;
  Bytes bytes = 0;

  explicit Tensors(std::int64_t mib) {
    for (std::int64_t left = mib; left > 0; left -= 8) {
      all.push_back(torch::rand({std::min<std::int64_t>(left, 8), 1 << 18}));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      state.add("tensor." + std::to_string(i), all[i]);
    }
    pieces = *state.pieces();
    for (const auto& piece : pieces) bytes += piece.bytes.size();
  }
  void change() {
    for (auto& tensor : all) tensor.add_(1);
  }
};

// Save and restore of one large state in one folder.
void large_state(const char* where, const std::string& folder, double goal,
                 const Settings& s) {
  const PoolFolder files(folder);
  Tensors tensors(s.mib);
  const PoolOptions room{
      .slot_bytes = CheckpointPool::slot_bytes_for(tensors.pieces), .slots = 2};
  auto pool =
      CheckpointPool::create(files.path() + "/pool", room,
                             {.threads = s.threads, .incremental = false});
  auto skipping = CheckpointPool::create(files.path() + "/skipping", room);
  const std::string raw_path = files.path() + "/raw";
  const std::string torch_path = files.path() + "/torch";
  const std::uint8_t none = 0;
  CHECK(pool && skipping &&
        MappedFile::create(raw_path, 2 * room.slot_bytes, {&none, 1}));
  auto raw = MappedFile::open(raw_path, MappedFile::Access::kWrite);
  CHECK(raw);
  Bytes half = 0;
  const auto write_raw = [&] {  // one thread, no checksum; two places by turns
    Bytes at = half;
    half = room.slot_bytes - half;
    const Bytes from = at;
    for (const Piece& piece : tensors.pieces) {
      (*raw)->write(at, piece.bytes);
      at += piece.bytes.size();
    }
    (*raw)->fence();
    CHECK((*raw)->sync(from, at - from));
  };
  const auto save_torch = [&] {
    torch::save(tensors.all, torch_path);
    sync_file(torch_path);
  };
  std::uint64_t step = 0;
  const auto saves =
      in_turns(s.repeats,
               {[&] { CHECK(pool->save(tensors.pieces, ++step)); }, write_raw,
                save_torch},
               [&] {
                 tensors.change();
                 settle(folder);
               });
  std::printf("%s: %s, %ld MiB\n", where,
              pool->durability().power_cut ? "durable" : "not durable",
              static_cast<long>(s.mib));
  print("  save", saves[0], "raw write, same mapping", saves[1], tensors.bytes,
        0.9);
  print("  save", saves[0], "torch::save, fsync", saves[2], tensors.bytes,
        goal);
  const auto skips = in_turns(
      s.repeats,
      {[&] { CHECK(skipping->save(tensors.pieces, ++step)); }, save_torch},
      [&] {
        tensors.all[0].add_(1);
        settle(folder);
      });
  print("  save, one tensor changed", skips[0], "torch::save, fsync", skips[1],
        tensors.bytes, 0);
  std::vector<torch::Tensor> loaded;
  const auto loads = in_turns(s.repeats,
                              {[&] { CHECK(tensors.state.resume(*pool)); },
                               [&] { torch::load(loaded, torch_path); },
                               [&] {
                                 const auto back = pool->restore();
                                 CHECK(back && tensors.state.restore(*back));
                               }},
                              [&] {
                                tensors.change();
                                // load() appends: memory of one only.
                                loaded.clear();
                              });
  print("  restore", loads[0], "torch::load", loads[1], tensors.bytes, 7);
  print("  restore, all checked first", loads[2], "torch::load", loads[1],
        tensors.bytes, 0);
}

// A small state, saved at each iteration.
void small_state(const char* kind, const char* where, const std::string& folder,
                 double goal, const Settings& s) {
  const PoolFolder files(folder);
  const auto job =
      make_job(kind, {.samples = 2000, .features = 64, .width = 10});
  TrainingState state;
  job->add_to(state);
  auto pool = state.open_pool(files.path() + "/pool");
  CHECK(pool);
  const std::string path = files.path() + "/torch";
  std::uint64_t step = 0;
  Bytes bytes = 0;
  const auto times = in_turns(s.repeats * 10,
                              {[&] {
                                 const auto pieces = state.pieces();
                                 CHECK(pieces && pool->save(*pieces, ++step));
                               },
                               [&] {
                                 // What torch::save would be given: tensors
                                 // made beforehand, for free.
                                 std::vector<torch::Tensor> tensors;
                                 bytes = 0;
                                 const auto pieces = state.pieces();
                                 for (const Piece& piece : *pieces) {
                                   tensors.push_back(*tensor_of(piece));
                                   bytes += piece.bytes.size();
                                 }
                                 torch::save(tensors, path);
                                 sync_file(path);
                               }},
                              [&] {
                                job->step();
                                settle(folder);
                              });
  char name[64];
  std::snprintf(name, sizeof name, "%s on %s, save", kind, where);
  print(name, times[0], "torch::save, fsync", times[1], bytes, goal);
}

// A job that saves at every tenth iteration, in the middle, and waits for it:
// no cost of it falls outside. One thread trains and one saves.
class SavedJob {
 public:
  SavedJob(const JobSize& size, const std::string& path)
      : job_(make_job("mlp", size)) {
    job_->add_to(state_);
    job_->step();
    pool_.emplace(*state_.open_pool(path, {}, {.threads = 1}));
    saver_.emplace(*pool_, 1);
    job_->before_update = [this] { saver_->before_update(); };
  }
  // `beside`: the copy is made beside the training, too.
  void ten_steps(bool beside) {
    for (int i = 0; i < 5; ++i) job_->step();
    const auto live = state_.live();
    CHECK(live);
    const auto begun = beside ? saver_->begin_beside(*live, ++step_)
                              : saver_->begin(live->pieces, ++step_);
    CHECK(begun);
    bytes_ = 0;
    for (const Piece& piece : live->pieces) bytes_ += piece.bytes.size();
    for (int i = 0; i < 5; ++i) job_->step();
    CHECK(saver_->wait());
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::unique_ptr<Job> job_;
  TrainingState state_;
  std::optional<CheckpointPool> pool_;
  std::optional<BackgroundSaver> saver_;
  std::uint64_t step_ = 0;
  Bytes bytes_ = 0;
};

// Iterations with a save at every tenth, beside the same without.
void slowdown(const char* where, const std::string& folder, const Settings& s) {
  const PoolFolder files(folder);
  const JobSize size{
      .samples = 4000, .features = 256, .width = 512, .batch = 256};
  const auto plain = make_job("mlp", size);
  SavedJob waits(size, files.path() + "/waits");
  SavedJob beside(size, files.path() + "/beside");
  const auto times = in_turns(
      s.repeats * 3,
      {[&] { beside.ten_steps(true); }, [&] { waits.ten_steps(false); },
       [&] {
         for (int i = 0; i < 10; ++i) plain->step();
       }},
      [] {});
  const auto print_row = [&](const char* how, double with) {
    std::printf(
        "mlp on %s, %.1f MiB at every 10th iteration of %.1f ms, %s: %+.2f %%  "
        " goal 3 %%: %s\n",
        where, static_cast<double>(beside.bytes()) / 1048576, times[2] * 100,
        how, (with / times[2] - 1) * 100,
        with <= 1.03 * times[2] ? "met" : "MISSED");
  };
  print_row("copied beside it", times[0]);
  print_row("copied before it goes on", times[1]);
}

int main_of(int argc, char** argv) {
  Settings s;
  CLI::App app{"What a checkpoint costs."};
  app.add_option("--mib", s.mib, "of the large state")
      ->check(CLI::Range(8, 65536));
  app.add_option("--repeats", s.repeats)->check(CLI::Range(1, 1000));
  app.add_option("--threads", s.threads, "of a save of the large state")
      ->check(CLI::Range(1, 256));
  app.add_option("--disk", s.disk, "a folder on a disk");
  app.add_option("--memory", s.memory, "a folder on tmpfs or DAX");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(1);
  large_state("tmpfs", s.memory, 9, s);
  large_state("disk", s.disk, 2, s);
  for (const auto& [where, folder] :
       {std::pair{"tmpfs", s.memory}, std::pair{"disk", s.disk}}) {
    small_state("kmeans", where, folder, 10, s);
    small_state("gmm", where, folder, 3, s);
  }
  slowdown("tmpfs", s.memory, s);
  slowdown("disk", s.disk, s);
  return 0;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) { return thermocline::main_of(argc, argv); }
