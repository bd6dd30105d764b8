// two_nodes_probe: do pages really move? For a machine with two memory nodes.
//
// A child touches memory on the last node; a Service with a scripted sampler
// is told that half of it is hot; then the kernel is asked where its pages
// lie. Then what must be left alone: memory that the child binds or locks while
// it is managed, and pages that it shares with a child of its own. Prints one
// line a check and a last line, exit status 0 when all pass, 1 when one fails,
// 77 when the machine has only one memory node.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

// A child that has touched memory on one node and sleeps.
struct Child {
  int pid = 0;
  Address where = 0;
  int told = -1;

  // Lets it do its part, and waits until it has.
  void wake() const {
    ::kill(pid, SIGUSR1);
    char byte = 0;
    if (::read(told, &byte, 1) != 1) std::abort();
  }
  void end() const {
    ::kill(-pid, SIGKILL);  // and what it started
    ::waitpid(pid, nullptr, 0);
    ::close(told);
  }
};

// `part`: what it does with its memory each time it is woken.
Child start_child(int node, bool huge, void (*part)(void*) = nullptr,
                  bool reserved = false) {
  int tell[2];
  if (::pipe(tell) != 0) std::abort();
  Child out;
  out.told = tell[0];
  out.pid = ::fork();
  if (out.pid == 0) {
    ::setpgid(0, 0);
    sigset_t wake;
    ::sigemptyset(&wake);
    ::sigaddset(&wake, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &wake, nullptr);
    auto* memory = ::mmap(
        nullptr, kBytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | (reserved ? MAP_HUGETLB : 0), -1, 0);
    if (memory == MAP_FAILED) ::_exit(1);
    ::madvise(memory, kBytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    unsigned long mask = 1ul << node;
    // Preferred, not bound: bound memory is left alone by design.
    ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, &mask, sizeof mask * 8);
    std::memset(memory, 7, kBytes);
    ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
    if (::write(tell[1], &memory, sizeof memory) < 0) ::_exit(1);
    for (int which = 0; ::sigwait(&wake, &which) == 0;) {
      part(memory);
      if (::write(tell[1], "x", 1) != 1) ::_exit(1);
    }
    ::_exit(1);
  }
  if (::read(tell[0], &out.where, sizeof out.where) < 0) std::abort();
  ::close(tell[1]);
  return out;
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

Result<std::unique_ptr<Service>> make_service(Kernel& kernel,
                                              const Machine& machine,
                                              bool move_shared = false) {
  Service::Options options;
  options.allow_numa_balancing = true;
  options.threads = false;  // a window tells what was moved in it
  options.target.move_shared = move_shared;
  return Service::make(
      kernel, machine, options,
      [](const std::string&,
         const std::string&) -> Result<std::unique_ptr<Policy>> {
        return std::unique_ptr<Policy>(std::make_unique<HalfHot>());
      });
}

void try_one(Kernel& kernel, const Machine& machine, bool huge) {
  const std::string name = huge ? "huge pages: " : "small pages: ";
  const auto slowest = static_cast<TierId>(machine.tiers.size() - 1);
  const auto child = start_child(machine.tiers[slowest].nodes.front(), huge);
  const int pid = child.pid;
  const Address where = child.where;
  check(on_tier(kernel, machine, pid, where, kBytes, slowest) == kBytes,
        name + "all memory starts in the slowest tier");
  auto service = make_service(kernel, machine);
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
  child.end();
  if (service) {
    (*service)->end_window();
    check((*service)->managed().empty(), name + "its end was noticed");
  }
}

// Of the first half, which is hot, the child ties down the second quarter of
// the whole when it is already managed.
void bind_a_quarter(void* memory) {
  auto* const quarter = static_cast<char*>(memory) + kBytes / 4;
  unsigned long mask = ~0ul;  // of all nodes: those it may have
  int mode = 0;
  ::syscall(SYS_get_mempolicy, &mode, &mask, sizeof mask * 8, nullptr,
            MPOL_F_MEMS_ALLOWED);
  if (::syscall(SYS_mbind, quarter, kBytes / 4, MPOL_BIND, &mask,
                sizeof mask * 8, 0) != 0) {
    ::_exit(2);
  }
}
void lock_a_quarter(void* memory) {
  if (::mlock(static_cast<char*>(memory) + kBytes / 4, kBytes / 4) != 0) {
    ::_exit(2);
  }
}
// Its child has all pages in common with it.
void share_all(void*) {
  if (::fork() == 0) {
    for (;;) ::pause();
  }
}

TierId slowest(const Machine& machine) {
  return static_cast<TierId>(machine.tiers.size() - 1);
}

Child on_slowest(const Machine& machine, void (*part)(void*),
                 bool reserved = false) {
  return start_child(machine.tiers[slowest(machine)].nodes.front(), false, part,
                     reserved);
}

// Looks at a child that is managed, and ends it.
void managed(Kernel& kernel, const Machine& machine, const std::string& name,
             const Child& child, bool move_shared, auto&& look) {
  auto service = make_service(kernel, machine, move_shared);
  HalfHot::demote_ = false;
  if (service && (*service)->attach(child.pid)) {
    look(**service);
  } else {
    check(false, name + "is managed");
  }
  child.end();
}

// A window in which the first half of its memory is read.
WindowReport half_is_hot(Service& service, const Child& child) {
  feed(service, child.where, kBytes / 2);
  return service.end_window();
}

// Reserved huge pages, of which the other node has free ones, too.
void reserved(Kernel& kernel, const Machine& machine) {
  const std::string name = "of reserved huge pages: ";
  const auto set = [&](const char* count) {
    bool good = true;
    for (const auto& tier : machine.tiers) {
      const auto path = "/sys/devices/system/node/node" +
                        std::to_string(tier.nodes.front()) +
                        "/hugepages/hugepages-2048kB/nr_hugepages";
      std::FILE* const file = std::fopen(path.c_str(), "w");
      good = good && file != nullptr && std::fputs(count, file) >= 0;
      if (file != nullptr && std::fclose(file) != 0) good = false;
    }
    return good;
  };
  check(set("8"), name + "there are some");
  const auto child = on_slowest(machine, nullptr, true);
  managed(kernel, machine, name, child, false, [&](Service& service) {
    half_is_hot(service, child);
    check(on_tier(kernel, machine, child.pid, child.where, kBytes,
                  slowest(machine)) == kBytes,
          name + "it is not moved");
    const auto& target = service.find(child.pid)->target();
    const auto id = target.find(child.where);
    check(id && target.bound(*id), name + "and known for what it is");
  });
  set("0");
}

void tied(Kernel& kernel, const Machine& machine, const std::string& name,
          void (*tie)(void*)) {
  const auto child = on_slowest(machine, tie);
  managed(kernel, machine, name, child, false, [&](Service& service) {
    child.wake();
    const auto fast = [&](int quarter) {
      return on_tier(kernel, machine, child.pid,
                     child.where + quarter * (kBytes / 4), kBytes / 4, 0);
    };
    const Bytes most = kBytes / 4 - (Bytes{256} << 10);
    // Looks take 1/200 of the time at most, and a busy host's take longer: what
    // is not known to be free yet waits for another window.
    for (int windows = 0; windows < 10 && fast(0) < most; ++windows) {
      ::sleep(3);
      half_is_hot(service, child);
    }
    check(fast(0) >= most, name + "what is free is moved");
    check(fast(1) <= Bytes{256} << 10, name + "what is tied is not");
  });
}

void shared(Kernel& kernel, const Machine& machine, bool move_shared) {
  const std::string name = move_shared ? "shared with a child, move_shared: "
                                       : "shared with a child: ";
  const auto child = on_slowest(machine, share_all);
  child.wake();
  managed(kernel, machine, name, child, move_shared, [&](Service& service) {
    const auto report = half_is_hot(service, child);
    const Bytes fast =
        on_tier(kernel, machine, child.pid, child.where, kBytes, 0);
    if (move_shared) {
      check(fast >= kBytes / 2, name + "its pages are moved");
      return;
    }
    check(fast == 0, name + "its pages are left where they are");
    const auto refused = report.moves.failed.find(EACCES);
    check(refused != report.moves.failed.end() &&
              refused->second >= kBytes / 2 / kernel.page_bytes(),
          name + "and counted as shared");
  });
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
  tied(*kernel, *machine, "bound later: ", bind_a_quarter);
  tied(*kernel, *machine, "locked later: ", lock_a_quarter);
  reserved(*kernel, *machine);
  shared(*kernel, *machine, false);
  shared(*kernel, *machine, true);
  std::printf("%s\n", failures == 0 ? "pass" : "fail");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thermocline

int main() { return thermocline::run(); }
