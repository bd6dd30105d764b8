// ScriptedKernel: a Kernel made of tables, with the real one's traps.
//
// Answers as Linux 6.1 does (mm/migrate.c): a page that cannot be migrated
// makes the call return a positive count and leaves every status unwritten;
// a full node gives ENOMEM after part of the pages moved, statuses unwritten;
// a bad node ends the call; a second address in one huge page answers EBUSY.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/syscalls.h"
#include "estimator/machine.h"

namespace thermocline {

class ScriptedKernel final : public Kernel {
 public:
  static constexpr Address kPage = 4096;
  static constexpr Bytes kHuge = Bytes{2} << 20;

  struct Call {
    bool query = false;
    std::vector<Address> pages;
    int node = -1;
  };

  std::map<Address, int> node_of;       // present pages
  std::map<Address, int> status_error;  // page -> errno in its status
  std::set<Address> pinned;             // counted as not migrated
  std::map<int, std::uint64_t> room;    // node -> pages that still fit
  std::set<int> bad_nodes;              // ENODEV
  std::set<Address> huge_blocks;        // aligned to kHuge
  int call_error = 0;                   // errno of every call
  int move_error = 0;                   // errno of calls that move
  std::map<std::string, std::string> files;
  std::map<std::string, std::uint64_t> words;  // "path@offset"
  std::map<std::string, std::string> links;
  std::set<int> claimed;               // by another daemon
  std::set<std::string> forbidden;     // files that may not be read
  std::map<std::string, Nanos> takes;  // to read a file
  bool may_move_shared = true;
  bool moves_shared = false;
  Nanos time = 0;
  std::vector<Call> calls;
  std::uint64_t reads = 0;
  std::function<void()> on_query;  // what happens while pages are asked for

  long move_pages(int, std::span<const Address> pages,
                  std::span<const int> nodes, std::span<int> status) override {
    calls.push_back({nodes.empty(),
                     {pages.begin(), pages.end()},
                     nodes.empty() ? -1 : nodes.front()});
    if (nodes.empty() && on_query) on_query();
    if (call_error != 0) return -call_error;
    if (!nodes.empty() && move_error != 0) return -move_error;
    return nodes.empty() ? query(pages, status) : move(pages, nodes, status);
  }

  Status move_shared() override {
    if (!may_move_shared) return permission("CAP_SYS_NICE is missing");
    moves_shared = true;
    return {};
  }

  Result<std::string> read_file(const std::string& path) override {
    ++reads;
    if (const auto slow = takes.find(path); slow != takes.end()) {
      time += slow->second;
    }
    if (forbidden.contains(path)) return permission(path + ": denied");
    const auto found = files.find(path);
    if (found == files.end()) return not_found(path + ": no such file");
    return found->second;
  }

  Result<std::uint64_t> read_word(const std::string& path,
                                  std::uint64_t offset) override {
    const auto found = words.find(path + "@" + std::to_string(offset));
    if (found == words.end()) return not_found(path);
    return found->second;
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    std::set<std::string> names;
    for (const auto& [file, text] : files) {
      if (file.rfind(path + "/", 0) != 0) continue;
      const auto rest = file.substr(path.size() + 1);
      names.insert(rest.substr(0, rest.find('/')));
    }
    if (names.empty()) return not_found(path);
    return std::vector<std::string>(names.begin(), names.end());
  }

  Result<std::string> read_link(const std::string& path) override {
    const auto found = links.find(path);
    if (found == links.end()) return not_found(path);
    return found->second;
  }

  Result<Claim> claim(int pid) override {
    if (claimed.contains(pid)) {
      return invalid("pid " + std::to_string(pid) + " is managed by another");
    }
    return Claim();
  }

  Nanos now() override { return time; }
  Bytes page_bytes() const override { return kPage; }

  // A process "job" with one anonymous mapping whose pages lie on a node.
  void add_process(int pid, Address start, std::uint64_t pages, int node) {
    const auto base = "proc/" + std::to_string(pid);
    files[base + "/stat"] = stat_line(pid, "job", 1000 + pid);
    files[base + "/maps"] = maps_line(start, start + pages * kPage);
    for (std::uint64_t i = 0; i < pages; ++i) node_of[start + i * kPage] = node;
  }
  void remove_process(int pid) {
    const auto base = "proc/" + std::to_string(pid);
    files.erase(base + "/stat");
    files.erase(base + "/maps");
  }
  void add_node(int node, Bytes total, Bytes free) {
    const auto name = std::to_string(node);
    files["sys/devices/system/node/node" + name + "/meminfo"] =
        "Node " + name + " MemTotal: " + std::to_string(total / 1024) +
        " kB\nNode " + name + " MemFree: " + std::to_string(free / 1024) +
        " kB\nNode " + name + " Inactive(file): 1024 kB\n";
  }
  // Makes a block huge, and lets pagemap and kpageflags tell.
  void make_huge(int pid, Address block, std::uint64_t frame) {
    huge_blocks.insert(block);
    files["sys/kernel/mm/transparent_hugepage/hpage_pmd_size"] = "2097152\n";
    for (Address page = block; page < block + kHuge; page += kPage) {
      const auto at = "proc/" + std::to_string(pid) + "/pagemap@" +
                      std::to_string(page / kPage * 8);
      words[at] = (std::uint64_t{1} << 63) | frame;
    }
    words["proc/kpageflags@" + std::to_string(frame * 8)] = std::uint64_t{1}
                                                            << 22;
  }

  static std::string stat_line(int pid, const std::string& name, int started,
                               const std::string& flags = "4194304") {
    return std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 " + flags +
           " 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(started) + " 0 0\n";
  }
  static std::string maps_line(Address start, Address end,
                               const std::string& rest =
                                   "rw-p 00000000 00:00 "
                                   "0 ") {
    char text[64];
    std::snprintf(text, sizeof text, "%lx-%lx ", start, end);
    return text + rest + "\n";
  }
  std::size_t moves() const {
    std::size_t count = 0;
    for (const auto& call : calls) count += call.query ? 0 : 1;
    return count;
  }

 private:
  long query(std::span<const Address> pages, std::span<int> status) {
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const auto at = node_of.find(pages[i]);
      status[i] = at == node_of.end() ? -ENOENT : at->second;
    }
    return 0;
  }

  bool carry(Address page, int node) {
    if (const auto left = room.find(node); left != room.end()) {
      if (left->second == 0) return false;
      --left->second;
    }
    node_of[page] = node;
    return true;
  }

  long move(std::span<const Address> pages, std::span<const int> nodes,
            std::span<int> status) {
    std::vector<int> written(pages.size());
    std::set<Address> queued;
    long stuck = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const Address block = pages[i] & ~(kHuge - 1);
      if (bad_nodes.contains(nodes[i])) {
        std::copy_n(written.begin(), i, status.begin());
        return -ENODEV;
      }
      if (!node_of.contains(pages[i])) {
        written[i] = -ENOENT;
      } else if (const auto bad = status_error.find(pages[i]);
                 bad != status_error.end()) {
        written[i] = -bad->second;
      } else if (pinned.contains(pages[i])) {
        ++stuck;
      } else if (huge_blocks.contains(block)) {
        const bool first = queued.insert(block).second;
        written[i] = first ? nodes[i] : -EBUSY;
        for (auto p = block; first && p < block + kHuge; p += kPage) {
          if (node_of.contains(p)) node_of[p] = nodes[i];
        }
      } else if (carry(pages[i], nodes[i])) {
        written[i] = nodes[i];
      } else {
        return -ENOMEM;
      }
    }
    if (stuck > 0) return stuck;
    std::copy(written.begin(), written.end(), status.begin());
    return 0;
  }
};

// Two tiers: "fast" on node 0 and "slow" on node 1.
inline Machine scripted_machine() {
  Machine machine;
  machine.name = "test";
  machine.tiers = {{"fast", {0}, 1 << 30, 80, 80, 1e10, 1e10, false},
                   {"slow", {1}, 1 << 30, 300, 900, 1e9, 1e9, true}};
  return machine;
}

}  // namespace thermocline
