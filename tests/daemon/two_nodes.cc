// two_nodes_probe: do pages really move? For a machine with two memory nodes.
//
// A child touches memory on the last node; a Service with a scripted sampler
// is told that half of it is hot; then the kernel is asked where its pages
// lie. Prints one line a check and a last line, exit status 0 when all pass,
// 1 when one fails, 77 when the machine has only one memory node.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "daemon/page_nodes.h"
#include "daemon/service.h"

namespace thermocline {
namespace {

constexpr Bytes kBytes = Bytes{16} << 20;

int failures = 0;

void check(bool good, const std::string& what) {
  std::printf("%s  %s\n", good ? "ok  " : "FAIL", what.c_str());
  if (!good) ++failures;
}

// Wants the first half of the memory in the fastest tier and nothing else.
class HalfHot final : public Policy {
 public:
  std::vector<Move> decide(const View& view) override {
    std::vector<Move> out;
    Bytes budget = view.budget;
    for (const auto& object : view.objects) {
      const bool wanted = demote_ ? object.tier == 0 : object.tier != 0;
      const bool hot = object.loads > 0;
      if (!hot || !wanted || !object.movable || object.bytes > budget) continue;
      budget -= object.bytes;
      const auto slowest = static_cast<TierId>(view.tiers.size() - 1);
      out.push_back({object.id, object.tier, demote_ ? slowest : TierId{0}});
    }
    return out;
  }
  double heat(ObjectId) const override { return 1; }
  std::string explain(ObjectId) const override { return "it was told so"; }
  static inline bool demote_ = false;
};

// Touches memory on one node and sleeps. Returns its pid.
int start_child(int node, bool huge, Address& where) {
  int tell[2];
  if (::pipe(tell) != 0) std::abort();
  const int pid = ::fork();
  if (pid == 0) {
    auto* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory, kBytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    unsigned long mask = 1ul << node;
    // Preferred, not bound: bound memory is left alone by design.
    ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, &mask, sizeof mask * 8);
    std::memset(memory, 7, kBytes);
    ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
    if (::write(tell[1], &memory, sizeof memory) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  void* memory = nullptr;
  if (::read(tell[0], &memory, sizeof memory) < 0) std::abort();
  ::close(tell[0]);
  ::close(tell[1]);
  where = reinterpret_cast<Address>(memory);
  return pid;
}

Bytes on_tier(Kernel& kernel, const Machine& machine, int pid, Address start,
              Bytes bytes, TierId tier) {
  std::vector<Address> pages;
  const Bytes page = kernel.page_bytes();
  for (Bytes at = 0; at < bytes; at += page) pages.push_back(start + at);
  const auto nodes = page_nodes(kernel, pid, pages);
  if (!nodes) return 0;
  Bytes out = 0;
  for (const int node : *nodes) {
    if (node >= 0 && machine.tier_of_node(node) == tier) out += page;
  }
  return out;
}

void feed(Service& service, Address start, Bytes bytes) {
  SampleBatch batch;
  for (Bytes at = 0; at < bytes; at += 4096) {
    Sample sample;
    sample.address = start + at;
    batch.samples.push_back(sample);
  }
  service.add(batch);
}

void try_one(Kernel& kernel, const Machine& machine, bool huge) {
  const std::string name = huge ? "huge pages: " : "small pages: ";
  const auto slowest = static_cast<TierId>(machine.tiers.size() - 1);
  Address where = 0;
  const int pid =
      start_child(machine.tiers[slowest].nodes.front(), huge, where);
  check(on_tier(kernel, machine, pid, where, kBytes, slowest) == kBytes,
        name + "all memory starts in the slowest tier");
  Service::Options options;
  options.allow_numa_balancing = true;
  options.move_thread = false;  // a window tells what was moved in it
  auto service = Service::make(
      kernel, machine, options,
      [](const std::string&,
         const std::string&) -> Result<std::unique_ptr<Policy>> {
        return std::unique_ptr<Policy>(std::make_unique<HalfHot>());
      });
  if (!service) {
    check(false, name + service.error().message);
  } else if (auto status = (*service)->attach(pid); !status) {
    check(false, name + status.error().message);
  } else {
    HalfHot::demote_ = false;
    feed(**service, where, kBytes / 2);
    auto report = (*service)->end_window();
    // Half of the last huge page may belong to the other half.
    const Bytes slack = huge ? Bytes{2} << 20 : Bytes{256} << 10;
    const Bytes fast = on_tier(kernel, machine, pid, where, kBytes, 0);
    check(fast >= kBytes / 2 && fast <= kBytes / 2 + 2 * slack,
          name + std::to_string(fast >> 10) + " KiB are in the fastest tier");
    check(report.moves.moved_bytes() + report.moves.dragged >= kBytes / 2,
          name + "reported moved " +
              std::to_string(report.moves.moved_bytes() >> 10) +
              " KiB, dragged " + std::to_string(report.moves.dragged >> 10) +
              " KiB in " + std::to_string(report.moves.calls_ns / 1000) +
              " us");
    check(report.moves.failed.empty(), name + "no page failed");
    HalfHot::demote_ = true;
    for (int i = 0; i < 3; ++i) {
      feed(**service, where, kBytes / 2);
      report = (*service)->end_window();
    }
    check(on_tier(kernel, machine, pid, where, kBytes / 2, 0) == 0,
          name + "and back in the slowest");
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (service) {
    (*service)->end_window();
    check((*service)->managed().empty(), name + "its end was noticed");
  }
}

int run() {
  const auto kernel = open_kernel();
  const auto machine = Machine::from_kernel("/");
  if (!machine) {
    std::printf("FAIL  %s\n", machine.error().message.c_str());
    return 1;
  }
  if (machine->tiers.size() < 2) {
    std::printf("skipped: this machine has one memory tier only\n");
    return 77;
  }
  try_one(*kernel, *machine, false);
  try_one(*kernel, *machine, true);
  std::printf("%s\n", failures == 0 ? "pass" : "fail");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main() { return thermocline::run(); }
