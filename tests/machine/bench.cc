// machine_bench: what memory costs inside the emulated machine.
//
//   machine_bench [--threads N] [--loaded] [--json] [MEBIBYTES [ACCESSES]]
//
// For every node: pointer chase, independent gather and scatter, sequential
// read, write, copy, and mixed (two lines read for each one written);
// nanoseconds per access (per 64-byte line for the sequential ones) by the
// guest's clock, by the virtual clock, the part of the latter that is waiting
// for memory, the bandwidth, and for how much of the time all threads ran. With
// --loaded, the latency of the chase beside another vCPU's traffic instead. All
// figures are emulated.
#include <numa.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "tests/machine/bench_kernels.h"
#include "tests/machine/bench_loaded.h"

namespace {

using namespace thermocline;
using Json = nlohmann::ordered_json;

struct Options {
  bool json = false;
  bool loaded = false;
  long threads = 1;
  long mebibytes = 32;
  long accesses = 200000;
};

bool parse(int count, char** arguments, Options& options) {
  int places = 0;
  for (int i = 1; i < count; ++i) {
    const char* const word = arguments[i];
    if (std::strcmp(word, "--json") == 0) {
      options.json = true;
    } else if (std::strcmp(word, "--loaded") == 0) {
      options.loaded = true;
    } else if (std::strcmp(word, "--threads") == 0 && i + 1 < count) {
      options.threads = std::atol(arguments[++i]);
    } else if (word[0] != '-' && places < 2) {
      (places++ == 0 ? options.mebibytes : options.accesses) = std::atol(word);
    } else {
      return false;
    }
  }
  return options.threads > 0 && options.mebibytes > 0 && options.accesses > 0;
}

void print(const KernelResult& result) {
  std::printf("node %d  %-8s %7u %9.1f %9.1f %9.1f %9.2f %7.0f%%\n",
              result.node, result.kernel.c_str(), result.threads,
              result.guest_ns, result.virtual_ns, result.stall_ns,
              result.gb_per_s, 100 * result.together);
  std::fflush(stdout);
}

void print(const LoadedLatency& point) {
  std::printf("node %d  %9.2f %9.1f\n", point.node, point.injected_gb_per_s,
              point.chase_ns);
  std::fflush(stdout);
}

Json to_json(const KernelResult& result) {
  return {{"node", result.node},
          {"kernel", result.kernel},
          {"threads", result.threads},
          {"guest_ns", result.guest_ns},
          {"virtual_ns", result.virtual_ns},
          {"stall_ns", result.stall_ns},
          {"gb_per_s", result.gb_per_s},
          {"together", result.together}};
}

Json to_json(const LoadedLatency& point) {
  return {{"node", point.node},
          {"injected_gb_per_s", point.injected_gb_per_s},
          {"chase_ns", point.chase_ns}};
}

int run(const Options& options) {
  BenchClock clock;
  const BenchSize size{static_cast<std::size_t>(options.mebibytes) << 20,
                       static_cast<std::size_t>(options.accesses)};
  Json results = Json::array();
  const auto show = [&](const auto& found) {
    for (const auto& result : found) {
      if (options.json) {
        results.push_back(to_json(result));
      } else {
        print(result);
      }
    }
  };
  if (!options.json) {
    std::puts(options.loaded
                  ? "emulated: traffic of another vCPU, latency beside it\n"
                    "        injected, GB/s   chase, ns"
                  : "emulated ns per access, or per line\n"
                    "                 threads     guest   virtual"
                    "  of it stalls   GB/s  at once");
  }
  for (int node = 0; node <= numa_max_node(); ++node) {
    if (options.loaded) {
      show(run_loaded(clock, node, size.bytes, size.accesses));
    } else {
      show(run_kernels(clock, node, static_cast<unsigned>(options.threads),
                       size));
    }
  }
  if (!options.json) return 0;
  const std::string state = clock.now();
  Json report;
  report["emulated"] = true;
  report["kinds"] =
      state.empty() ? Json::array() : Json::parse(state).at("kinds");
  report[options.loaded ? "loaded_latency" : "kernels"] = std::move(results);
  std::puts(report.dump(1).c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options) || numa_available() < 0) {
    std::fputs(
        "usage: machine_bench [--threads N] [--loaded] [--json] "
        "[MEBIBYTES [ACCESSES]]\n",
        stderr);
    return 1;
  }
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const long wanted = options.loaded ? 2 : options.threads;
  if (cpus < wanted) {
    std::fprintf(stderr, "machine_bench: %ld vCPUs, %ld are needed\n", cpus,
                 wanted);
    return 1;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "machine_bench: %s\n", error.what());
    return 1;
  }
}
