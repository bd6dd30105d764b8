#include "daemon/target_finder.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>

#include "daemon/children.h"
#include "daemon/process.h"

namespace thermocline {
namespace {

constexpr int kDeepest = 16;                 // cgroups in cgroups
constexpr std::size_t kMostThreads = 4'096;  // asked what they started

std::optional<int> number(const std::string& text) {
  int out = 0;
  const auto end = text.data() + text.size();
  const auto [at, bad] = std::from_chars(text.data(), end, out);
  if (bad != std::errc() || at != end || out <= 0) return std::nullopt;
  return out;
}

void add_processes(Kernel& kernel, const std::string& folder, int depth,
                   std::set<int>& into) {
  const auto text = kernel.read_file(folder + "/cgroup.procs");
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto pid = number(line)) into.insert(*pid);
  }
  if (depth == 0) return;
  const auto names = kernel.list(folder);
  if (!names) return;
  for (const auto& name : *names) {
    // Whatever its name: of a file, no processes can be read.
    if (name != "." && name != "..") {
      add_processes(kernel, folder + "/" + name, depth - 1, into);
    }
  }
}

std::set<int> in_cgroup(Kernel& kernel, const std::string& cgroup) {
  std::set<int> out;
  if (cgroup.empty()) return out;
  const std::string path = cgroup[0] == '/' ? cgroup.substr(1) : cgroup;
  // v2 (or the unified part of a hybrid), then v1's memory controller.
  for (const char* const root :
       {"sys/fs/cgroup/", "sys/fs/cgroup/unified/", "sys/fs/cgroup/memory/"}) {
    add_processes(kernel, root + path, kDeepest, out);
    if (!out.empty()) break;
  }
  return out;
}

// Nothing when the rule does not mean it. A kernel thread has no memory.
std::optional<Bytes> resident_if_meant(Kernel& kernel, const TargetRule& rule,
                                       int pid, const std::set<int>& group) {
  if (!rule.cgroup.empty() && !group.contains(pid)) return {};
  const std::string base = "proc/" + std::to_string(pid);
  if (!rule.exe.empty()) {
    const auto exe = kernel.read_link(base + "/exe");
    if (!exe) return {};
    const bool whole = rule.exe.find('/') != std::string::npos;
    const auto slash = exe->rfind('/');
    const auto last =
        slash == std::string::npos ? *exe : exe->substr(slash + 1);
    if ((whole ? *exe : last) != rule.exe) return {};
  }
  const auto status = kernel.read_file(base + "/status");
  if (!status) return {};
  // "Uid: real effective saved filesystem"
  if (rule.user && status_word(*status, "Uid", 2) != *rule.user) return {};
  const auto resident = status_word(*status, "VmRSS", 1);
  if (!resident) return {};
  return *resident * 1024;
}

// Whatever it runs, wherever it was put.
std::optional<TargetRule> rule_for_children(const TargetRule& rule) {
  if (!rule.children) return {};
  return TargetRule{.least = rule.least, .share = rule.share};
}

}  // namespace

Status check_rule(const TargetRule& rule) {
  if (rule.cgroup.empty() && rule.exe.empty() && !rule.user) {
    return invalid(
        "a rule for targets must name a cgroup, a program or a user");
  }
  if (rule.cgroup.find("..") != std::string::npos) {
    return invalid("cgroup \"" + rule.cgroup + "\" is no path below the root");
  }
  if (!(rule.share.weight > 0)) {
    return invalid("a rule's weight must be above 0");
  }
  return {};
}

// One look: what it has found, and what some rule has meant already.
class TargetFinder::Look {
 public:
  Look(TargetFinder& finder, const std::vector<int>& managed)
      : finder_(finder), managed_(managed) {}

  // What a rule means, of all processes or of those in its cgroup.
  void by_rules() {
    std::vector<std::set<int>> groups;
    std::set<int> candidates;
    bool whole = false;  // some rule may be about any process
    for (const auto& rule : finder_.rules_) {
      groups.push_back(in_cgroup(finder_.kernel_, rule.cgroup));
      candidates.insert(groups.back().begin(), groups.back().end());
      whole = whole || rule.cgroup.empty();
    }
    if (whole) add_all(candidates);
    for (const int pid : candidates) {
      const auto started = candidate(pid);
      for (std::size_t i = 0; started && i < groups.size(); ++i) {
        if (take(pid, *started, finder_.rules_[i], groups[i])) break;
      }
    }
  }

  // What those that are known started, and what that started.
  void by_parents() {
    std::size_t threads = kMostThreads;
    std::size_t left = kMostFollowed;
    std::vector<int> parents;
    for (const auto& [pid, known] : finder_.known_) parents.push_back(pid);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const auto rule = finder_.known_.at(parents[i]).children;
      if (!rule) continue;
      for (const int child :
           children_of(finder_.kernel_, parents[i], threads)) {
        if (left == 0) return;
        --left;
        const bool was_known = finder_.known_.contains(child);
        const auto started = candidate(child);
        if (!started || !take(child, *started, *rule, {})) continue;
        if (!was_known) parents.push_back(child);
      }
    }
  }

  std::vector<Found> found() { return std::move(found_); }

 private:
  void add_all(std::set<int>& into) const {
    const auto names = finder_.kernel_.list("proc");
    if (!names) return;
    for (const auto& name : *names) {
      if (const auto pid = number(name)) into.insert(*pid);
    }
  }

  // When it was started, if it is one that may be found.
  std::optional<std::uint64_t> candidate(int pid) {
    if (taken_.contains(pid)) return {};
    if (found_.size() >= kMostFound) return {};
    if (std::ranges::find(managed_, pid) != managed_.end()) return {};
    if (pid == ::getpid()) return {};  // whom a rule means by "user"
    const auto process = read_process(finder_.kernel_, pid);
    if (!process || process->kernel_thread || process->zombie) return {};
    const auto given_up = finder_.given_up_.find(pid);
    if (given_up != finder_.given_up_.end() &&
        given_up->second.started == process->started &&
        given_up->second.until > finder_.looks_) {
      return {};
    }
    return process->started;
  }

  // Whether the rule means it. A small launcher is not found, but known: what
  // it starts is followed.
  bool take(int pid, std::uint64_t started, const TargetRule& rule,
            const std::set<int>& group) {
    const auto resident = resident_if_meant(finder_.kernel_, rule, pid, group);
    if (!resident) return false;
    taken_.insert(pid);
    if (finder_.known_.contains(pid) || finder_.known_.size() < kMostFollowed) {
      finder_.known_[pid] = {started, rule_for_children(rule)};
    }
    if (*resident >= rule.least) found_.push_back({pid, rule.share});
    return true;
  }

  TargetFinder& finder_;
  const std::vector<int>& managed_;
  std::set<int> taken_;
  std::vector<Found> found_;
};

std::vector<TargetFinder::Found> TargetFinder::look(
    const std::vector<int>& managed) {
  forget_the_ended();
  ++looks_;
  Look look(*this, managed);
  if (!rules_.empty()) look.by_rules();
  look.by_parents();
  return look.found();
}

// Pids are used again: whoever has it now is somebody else.
void TargetFinder::forget_the_ended() {
  const auto ended = [&](int pid, std::uint64_t started) {
    const auto process = read_process(kernel_, pid);
    return !process || process->started != started;
  };
  std::erase_if(known_, [&](const auto& one) {
    return ended(one.first, one.second.started);
  });
  std::erase_if(given_up_, [&](const auto& one) {
    return ended(one.first, one.second.started);
  });
}

void TargetFinder::follow(int pid, const FastShare& share) {
  const auto process = read_process(kernel_, pid);
  if (!process || known_.size() >= kMostFollowed) return;
  known_[pid] = {process->started, TargetRule{.share = share}};
}

void TargetFinder::give_up(int pid) {
  known_.erase(pid);
  const auto process = read_process(kernel_, pid);
  if (process) given_up_[pid] = {process->started, INT64_MAX, 0};
}

bool TargetFinder::put_off(int pid) {
  constexpr int kMostDoublings = 6;
  const auto process = read_process(kernel_, pid);
  if (!process) return true;
  auto& one = given_up_[pid];
  if (one.started != process->started) one = {process->started, 0, 0};
  one.times = std::min(one.times + 1, kMostDoublings);
  one.until = looks_ + (std::int64_t{1} << one.times);
  return one.times == 1;
}

}  // namespace thermocline
