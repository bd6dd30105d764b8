#include "tests/machine/workloads/run.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/machine/workloads/digest.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

struct Copy {
  std::unique_ptr<Workload> workload;
  std::uint64_t digest = 0;
};

// Calls what(copy) for all copies at once, the first on this thread.
void together(std::vector<Copy>& copies,
              const std::function<void(Copy&)>& what) {
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < copies.size(); ++i) {
    others.emplace_back([&, i] { what(copies[i]); });
  }
  what(copies.front());
}

std::vector<Array> arrays_of(const std::vector<Copy>& copies) {
  std::vector<Array> all;
  for (const Copy& copy : copies) {
    for (const Array& array : copy.workload->arrays()) all.push_back(array);
  }
  return all;
}

std::string hexadecimal(std::uint64_t word) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llx",
                static_cast<unsigned long long>(word));
  return text;
}

std::uint64_t step(std::vector<Copy>& copies, std::uint64_t index) {
  together(copies,
           [index](Copy& copy) { copy.digest = copy.workload->step(index); });
  Digest digest;
  for (const Copy& copy : copies) digest.add(copy.digest);
  return digest.value();
}

std::string seconds_since(Clock::time_point began) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f",
                std::chrono::duration<double>(Clock::now() - began).count());
  return text;
}

// Whoever measures may say when to go on, by a byte in the FIFO that
// WORKLOAD_GO names; or not any more, by closing it.
void await_go() {
  const char* const fifo = std::getenv("WORKLOAD_GO");
  if (fifo == nullptr) return;
  const int from = open(fifo, O_RDONLY);
  char byte = 0;
  while (from >= 0 && read(from, &byte, 1) < 0 && errno == EINTR) {
  }
  if (from >= 0) close(from);
}

}  // namespace

Result<std::uint64_t> run_workload(
    const RunSettings& s, const std::function<void(const std::string&)>& print,
    const RunHooks& hooks) {
  const auto kind = workloads().find(s.name);
  if (kind == workloads().end()) {
    return not_found("no workload named \"" + s.name + "\"; see --list");
  }
  if (s.threads < 1 || s.mebibytes / s.threads < kLeastMebibytes) {
    return invalid("--threads: each needs " + std::to_string(kLeastMebibytes) +
                   " MiB; use fewer, or a larger --size");
  }
  print("workload " + s.name + ": " + std::to_string(s.mebibytes) + " MiB, " +
        std::to_string(s.steps) + " steps, seed " + std::to_string(s.seed));
  std::vector<Copy> copies(s.threads);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].workload =
        kind->second.make({(s.mebibytes << 20) / s.threads, s.seed + i});
  }
  together(copies, [](Copy& copy) { copy.workload->prepare(); });

  print("prepared");  // measurements may begin
  await_go();
  if (hooks.begin) {
    if (auto ok = hooks.begin(arrays_of(copies)); !ok) return ok.error();
  }

  Digest digest;
  for (std::uint64_t i = 0; i < s.steps; ++i) {
    if (hooks.step) hooks.step(i);
    const auto began = Clock::now();
    const std::uint64_t checksum = step(copies, i);
    digest.add(checksum);
    print("step " + std::to_string(i) + " checksum " + hexadecimal(checksum) +
          " seconds " + seconds_since(began));
  }
  if (hooks.end) {
    if (auto ok = hooks.end(); !ok) return ok.error();
  }
  print("done");  // and end
  await_go();
  for (Copy& copy : copies) {
    if (!s.check) break;
    if (const Status status = copy.workload->check(); !status) {
      return status.error().within("workload " + s.name);
    }
  }
  print("checksum " + hexadecimal(digest.value()));
  return digest.value();
}

}  // namespace thermocline
