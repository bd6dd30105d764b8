#include "daemon/target_finder.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "daemon/process.h"

namespace thermocline {
namespace {

constexpr int kDeepest = 16;  // cgroups in cgroups

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
    // Files have an interface's name before the dot, folders mostly a suffix:
    // a folder is what has processes of its own to tell.
    if (name.empty() || name[0] == '.' || name.rfind("cgroup.", 0) == 0 ||
        name.rfind("memory.", 0) == 0 || name.rfind("cpu", 0) == 0) {
      continue;
    }
    add_processes(kernel, folder + "/" + name, depth - 1, into);
  }
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

std::set<int> TargetFinder::in_cgroup(const std::string& cgroup) {
  std::set<int> out;
  if (cgroup.empty()) return out;
  const std::string path = cgroup[0] == '/' ? cgroup.substr(1) : cgroup;
  // v2 (or the unified part of a hybrid), then v1's memory controller.
  for (const char* const root :
       {"sys/fs/cgroup/", "sys/fs/cgroup/unified/", "sys/fs/cgroup/memory/"}) {
    add_processes(kernel_, root + path, kDeepest, out);
    if (!out.empty()) break;
  }
  return out;
}

std::optional<Bytes> TargetFinder::resident_if_meant(
    const TargetRule& rule, int pid, const std::set<int>& group) {
  if (!rule.cgroup.empty() && !group.contains(pid)) return {};
  const std::string base = "proc/" + std::to_string(pid);
  if (!rule.exe.empty()) {
    const auto exe = kernel_.read_link(base + "/exe");
    if (!exe) return {};
    const bool whole = rule.exe.find('/') != std::string::npos;
    const auto slash = exe->rfind('/');
    const auto last =
        slash == std::string::npos ? *exe : exe->substr(slash + 1);
    if ((whole ? *exe : last) != rule.exe) return {};
  }
  const auto status = kernel_.read_file(base + "/status");
  if (!status) return {};
  // "Uid: real effective saved filesystem"
  if (rule.user && status_word(*status, "Uid", 2) != *rule.user) return {};
  const auto resident = status_word(*status, "VmRSS", 1);
  if (!resident) return {};
  return *resident * 1024;
}

std::vector<TargetFinder::Found> TargetFinder::look(
    const std::vector<int>& managed) {
  std::vector<Found> out;
  if (rules_.empty()) return out;
  std::vector<std::set<int>> groups;
  bool whole = false;  // some rule may be about any process
  for (const auto& rule : rules_) {
    groups.push_back(in_cgroup(rule.cgroup));
    whole = whole || rule.cgroup.empty() || rule.children;
  }
  std::set<int> candidates;
  for (const auto& group : groups)
    candidates.insert(group.begin(), group.end());
  if (const auto names = kernel_.list("proc"); names && whole) {
    for (const auto& name : *names) {
      if (const auto pid = number(name)) candidates.insert(*pid);
    }
  }
  std::erase_if(found_by_, [&](const auto& one) {
    return !candidates.contains(one.first);
  });
  std::erase_if(given_up_, [&](const auto& one) {
    return !candidates.contains(one.first);
  });
  for (const int pid : candidates) {
    if (out.size() >= kMostFound) break;
    if (std::find(managed.begin(), managed.end(), pid) != managed.end()) {
      continue;
    }
    if (pid == ::getpid()) continue;  // whom a rule means by "user"
    const auto process = read_process(kernel_, pid);
    if (!process || process->kernel_thread || process->zombie) continue;
    const auto given_up = given_up_.find(pid);
    if (given_up != given_up_.end()) {
      if (given_up->second == process->started) continue;
      given_up_.erase(given_up);
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const auto parent = found_by_.find(process->parent);
      const bool child = rules_[i].children && parent != found_by_.end() &&
                         parent->second == i;
      TargetRule rule = rules_[i];
      if (child) {  // whatever it runs, wherever it was put
        rule.cgroup.clear();
        rule.exe.clear();
        rule.user.reset();
      }
      const auto resident = resident_if_meant(rule, pid, groups[i]);
      if (!resident) continue;
      // A small launcher's children are followed, too.
      found_by_[pid] = i;
      if (*resident >= rule.least) out.push_back({pid, rule.share});
      break;
    }
  }
  return out;
}

void TargetFinder::give_up(int pid) {
  found_by_.erase(pid);
  const auto process = read_process(kernel_, pid);
  if (process) given_up_[pid] = process->started;
}

}  // namespace thermocline
