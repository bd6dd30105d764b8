// machine_workload: runs one of the workloads; README.md tells which there are.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <future>
#include <nlohmann/json.hpp>

#include "tests/machine/workloads/run.h"
#include "tests/machine/workloads/timed_runs.h"

namespace thermocline {
namespace {

void list(bool json) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [name, kind] : workloads()) {
    all.push_back({{"name", name},
                   {"summary", kind.summary},
                   {"hot", kind.hot},
                   {"changes", kind.changes}});
    if (json) continue;
    std::printf("%-14s %s\n%-14s hot%s: %s\n", name.c_str(),
                kind.summary.c_str(), "", kind.changes ? ", changing" : "",
                kind.hot.c_str());
  }
  if (json) std::printf("%s\n", all.dump(2).c_str());
}

int complain(const std::string& what) {
  std::fprintf(stderr, "machine_workload: %s\n", what.c_str());
  return 2;
}

int run(int argc, char** argv) {
  RunSettings s;
  bool listing = false, json = false, unchecked = false, clock = false;
  std::string placements;
  CLI::App app{"Runs one of the workloads that the machine is tried on.",
               "machine_workload"};
  app.add_option("name", s.name, "which; --list tells");
  app.add_option("--size", s.mebibytes, "MiB of memory, about")
      ->capture_default_str()
      ->check(CLI::Range(kLeastMebibytes, std::size_t{1} << 16));
  app.add_option("--steps", s.steps, "how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", s.seed, "of all that is random")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--threads", s.threads, "copies, which share the memory")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_flag("--no-check", unchecked, "leave the result unchecked");
  app.add_option("--placement", placements,
                 "JSON list of placements of the memory; the steps are run "
                 "under each, from one preparation");
  app.add_flag("--clock", clock,
               "in the machine: switch its model on before the first step, and "
               "time the steps with its clock");
  app.add_flag("--list", listing, "tell which workloads there are");
  app.add_flag("--json", json, "with --list: as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    return complain(std::string(error.what()) + "; see --help");
  }
  if (json && !listing) return complain("--json: goes with --list only");
  if (listing) return list(json), 0;
  if (s.name.empty()) return complain("no workload named; see --list");

  s.check = !unchecked;
  const Printer print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  RunHooks hooks;
  if (clock || !placements.empty()) {
    // On a thread, which has a heap of its own: what is read and freed there
    // must not make a workload's arrays lie elsewhere.
    auto made = std::async(std::launch::async, [&] {
                  return timed_runs(placements, clock, print);
                }).get();
    if (!made) return complain(made.error().message);
    hooks = *std::move(made);
  }
  const auto result = run_workload(s, print, hooks);
  if (result) return 0;
  complain(result.error().message);
  return result.error().code == Error::Code::kCorrupt ? 1 : 2;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    return thermocline::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "machine_workload: --size: too large for this host\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "machine_workload: %s\n", error.what());
    return 1;
  }
}
