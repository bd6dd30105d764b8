// kill_jobs: kills training jobs at random instants (SIGKILL), lets them
// resume until they end, and compares each with one that was never killed.
//
//   kill_jobs [--kills N] [--folder DIR] [--seed N]
//
// A job saves every second step: written beside the training, and the network's
// copied beside it, too. It is a child of this program, forked before LibTorch
// has done anything, so that a thousand kills take minutes. Fails unless every
// job ends bit for bit as the undisturbed one and nothing that a kill left
// looks damaged. What a kill cannot show (which stores reach the medium in a
// power cut) the search for crash states does.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <thread>

#include "tests/training/pool_folder.h"
#include "tests/training/torch/jobs.h"
#include "traces/libtorch.h"
#include "training/background_saver.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kSteps = 120;
using Clock = std::chrono::steady_clock;

// A job, and how it saves: BackgroundSaver::begin() or begin_beside().
struct Way {
  const char* name;
  const char* kind;
  bool beside;
};
constexpr Way kWays[] = {{"mlp", "mlp", false},
                         {"mlp, beside", "mlp", true},
                         {"kmeans", "kmeans", false},
                         {"gmm", "gmm", false}};

// In a child. Returns: the exit status; the digest goes to `out`.
int run_job(const Way& way, const std::string& path, int out) {
  at::set_num_threads(1);
  const auto job =
      make_job(way.kind, {.samples = 500, .features = 8, .width = 16});
  TrainingState state;
  job->add_to(state);
  auto pool = state.open_pool(path);
  if (!pool) return std::fprintf(stderr, "%s\n", pool.error().message.c_str());
  const auto resumed = state.resume(*pool);
  if (!resumed) {
    return std::fprintf(stderr, "%s\n", resumed.error().message.c_str());
  }
  BackgroundSaver saver(*pool, 1);
  job->before_update = [&] { saver.before_update(); };
  const auto begin = [&](std::uint64_t step) {
    if (way.beside) return saver.begin_beside(*state.live(), step);
    return saver.begin(*state.pieces(), step);
  };
  for (std::uint64_t step = resumed->value_or(0); step < kSteps; ++step) {
    job->step();
    if (step % 2 == 1 && !begin(step + 1)) return 2;
  }
  if (!saver.wait()) return 3;
  const std::uint32_t sum = digest(state);
  return ::write(out, &sum, sizeof sum) == sizeof sum ? 0 : 4;
}

struct Ended {
  bool killed = false;
  bool failed = false;
  std::uint32_t digest = 0;
};

// Forks the job and kills it after that many seconds; below 0: never.
Ended run_until(const Way& way, const std::string& path, double seconds) {
  int ends[2];
  CHECK(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::_exit(run_job(way, path, ends[1]) & 0x7f);
  }
  ::close(ends[1]);
  if (seconds >= 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Ended out;
  const auto got = ::read(ends[0], &out.digest, sizeof out.digest);
  ::close(ends[0]);
  out.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  out.failed = !out.killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
                               got != sizeof out.digest);
  return out;
}

struct Table {
  std::uint64_t kills = 0, in_a_save = 0, ended = 0;
  std::uint64_t differ = 0, damaged = 0, failed = 0;
  std::uint64_t bad() const { return differ + damaged + failed; }
};

// Looks at what a kill left.
void look(const std::string& path, Table& table) {
  auto pool = CheckpointPool::open_to_read(path);
  if (!pool) {  // before it was made: nothing there, or not under this name
    table.damaged += pool.error().code != Error::Code::kNotFound;
    return;
  }
  const auto back = pool->restore();
  if (!back) table.damaged += back.error().code != Error::Code::kNotFound;
  if (back) table.damaged += !back->damage.empty();
  bool half = false;
  for (const auto& one : pool->list()) {
    half = half || !one.trouble.empty() || !one.committed ||
           !pool->verify(one.slot);
  }
  table.in_a_save += half;
}

Table kill_job(const Way& way, std::uint64_t kills, const std::string& folder,
               std::mt19937_64& random) {
  Table table;
  const PoolFolder pools(folder);
  const std::string path = pools.path() + "/job.pool";
  const auto start = Clock::now();
  const Ended whole = run_until(way, path, -1);
  const double takes =
      std::chrono::duration<double>(Clock::now() - start).count();
  table.failed += whole.failed;
  std::uniform_real_distribution<double> when(0, takes);
  while (table.failed == 0 && (table.kills < kills || table.ended == 0)) {
    ::unlink(path.c_str());
    for (bool ended = false; !ended;) {
      const bool enough = table.kills >= kills;
      const Ended now = run_until(way, path, enough ? -1 : when(random));
      table.kills += now.killed;
      if (now.killed) look(path, table);
      if (now.failed) ++table.failed;
      ended = !now.killed;
      if (!ended || now.failed) continue;
      ++table.ended;
      table.differ += now.digest != whole.digest;
    }
    if (isatty(STDERR_FILENO) == 1) {
      std::fprintf(stderr, "\r%s: %ju of %ju kills ", way.name, table.kills,
                   kills);
    }
  }
  return table;
}

int main_of(int argc, char** argv) {
  std::uint64_t kills = 20, seed = 1;
  std::string folder = "/tmp";
  CLI::App app{"Kills training jobs and compares what they resume to."};
  app.add_option("--kills", kills, "in all, over all jobs");
  app.add_option("--folder", folder, "where the pools lie");
  app.add_option("--seed", seed, "of the instants");
  CLI11_PARSE(app, argc, argv);
  std::mt19937_64 random(seed);
  std::printf("%-12s %7s %10s %7s %8s %9s %8s\n", "job", "kills", "in a save",
              "ended", "differ", "damaged", "failed");
  Table all;
  for (const Way& way : kWays) {
    const Table one = kill_job(
        way, (kills + std::size(kWays) - 1) / std::size(kWays), folder, random);
    std::printf("%-12s %7ju %10ju %7ju %8ju %9ju %8ju\n", way.name, one.kills,
                one.in_a_save, one.ended, one.differ, one.damaged, one.failed);
    std::fflush(stdout);
    all.kills += one.kills;
    all.differ += one.bad();
  }
  std::printf("%ju kills: %s\n", all.kills,
              all.differ == 0 ? "every job ended bit for bit as if undisturbed"
                              : "NOT all jobs ended as they should");
  return all.differ == 0 && all.kills >= kills ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  // OpenBLAS reads it when it is loaded, before main().
  if (::getenv("OPENBLAS_NUM_THREADS") == nullptr) {
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", argv);
  }
  return thermocline::main_of(argc, argv);
}
