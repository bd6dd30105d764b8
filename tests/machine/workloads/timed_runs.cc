#include "tests/machine/workloads/timed_runs.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/machine/clock_client.h"
#include "tests/machine/workloads/page_mover.h"
#include "tests/machine/workloads/page_placement.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;
using Guest = std::chrono::steady_clock;

// What the clock says of this CPU.
struct Instant {
  std::int64_t virtual_ns = 0;
  std::int64_t busy_ns = 0;
  std::int64_t instructions = 0;
  std::vector<std::int64_t> link_bytes;  // of each tier, read and written
};

Result<Instant> now() {
  const auto answer = ask_clock("now");
  if (!answer) return answer.error();
  const Json json = Json::parse(*answer, nullptr, false);
  const auto cpu = static_cast<std::size_t>(sched_getcpu());
  if (json.is_discarded() || !json.contains("cpus") ||
      json["cpus"].size() <= cpu) {
    return corrupt("the machine's clock says " + *answer);
  }
  const Json& mine = json["cpus"][cpu];
  Instant instant{mine.value("virtual_ns", std::int64_t{0}),
                  mine.value("busy_ns", std::int64_t{0}),
                  mine.value("instructions", std::int64_t{0}),
                  {}};
  for (const Json& tier : mine.value("tiers", Json::array())) {
    for (const char* way : {"read_bytes", "written_bytes"}) {
      instant.link_bytes.push_back(tier.value(way, std::int64_t{0}));
    }
  }
  return instant;
}

class Stopwatch {
 public:
  Status start() {
    if (auto on = ask_clock("model on"); !on) return on.error();
    auto instant = now();
    if (!instant) return instant.error();
    began_ = *instant;
    guest_began_ = Guest::now();
    return {};
  }

  Result<Json> stop() {
    const auto guest = Guest::now() - guest_began_;
    const auto ended = now();
    if (!ended) return ended.error();
    auto bytes = ended->link_bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] -= began_.link_bytes[i];
    }
    return Json{
        {"begin_ns", began_.virtual_ns},
        {"end_ns", ended->virtual_ns},
        {"busy_ns", ended->busy_ns - began_.busy_ns},
        {"instructions", ended->instructions - began_.instructions},
        {"link_bytes", bytes},
        {"guest_ns",
         std::chrono::duration_cast<std::chrono::nanoseconds>(guest).count()}};
  }

 private:
  Instant began_;
  Guest::time_point guest_began_;
};

std::string line_of(const Array& array) {
  char text[64];
  const auto start = reinterpret_cast<std::uintptr_t>(array.data);  // NOLINT
  std::snprintf(text, sizeof text, " %#zx %#zx", start, start + array.bytes);
  return "array " + array.name + text;
}

using Mover = std::shared_ptr<PageMover>;

// Returns in a copy of this process for each placement, one after another, with
// its own mover.
Status in_copies(const std::vector<PagePlacement>& placements,
                 const Printer& print, Mover& mover) {
  for (const PagePlacement& placement : placements) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return io(std::string("fork: ") + std::strerror(errno));
    if (child == 0) {
      print("placement " + placement.name);
      if (auto ok = place(placement); !ok) return ok;
      mover = std::make_shared<PageMover>(placement.moves);
      return {};
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
      std::_Exit(1);
    }
  }
  std::_Exit(0);
}

}  // namespace

Result<RunHooks> timed_runs(const std::string& placements, bool clock,
                            const Printer& print) {
  std::vector<PagePlacement> all;
  if (!placements.empty()) {
    auto loaded = load_placements(placements);
    if (!loaded) return loaded.error();
    if (loaded->empty()) return invalid(placements + ": holds no placement");
    all = *std::move(loaded);
  }
  const auto stopwatch = std::make_shared<Stopwatch>();
  const auto mover = std::make_shared<Mover>();
  RunHooks hooks;
  hooks.begin = [=](const std::vector<Array>& arrays) -> Status {
    for (const Array& array : arrays) print(line_of(array));
    if (!all.empty()) {
      if (auto ok = in_copies(all, print, *mover); !ok) return ok.error();
    }
    return clock ? stopwatch->start() : Status();
  };
  hooks.step = [=](std::uint64_t step) {
    if (*mover) (*mover)->before_step(step);
  };
  hooks.end = [=]() -> Status {
    std::size_t moved = 0;
    if (*mover) {  // the job waits for what it does not outlive
      const auto went = (*mover)->finish();
      if (!went) return went.error();
      moved = *went;
    }
    if (!clock) return {};
    auto timed = stopwatch->stop();
    if (!timed) return timed.error();
    (*timed)["moved_pages"] = moved;
    print("timed " + timed->dump());
    return {};
  };
  return hooks;
}

}  // namespace thermocline
