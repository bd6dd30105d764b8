// machine_push_out: takes from a process what it has too much of on a node.
//
//   machine_push_out NODE OTHER PID BYTES
//
// Moves pages of PID from NODE to OTHER until it has no more than BYTES there;
// prints what it has then. Those go that it touched last, as far as addresses
// tell: a program that allocates one array after the other and fills each from
// its beginning gets mappings at ever lower addresses. So that a job which got
// ready while the kernel gave memory back has what it would have had otherwise.
// PID should wait meanwhile. What is no memory of its own (files) stays.
#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tracer/words.h"

namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::size_t kAtOnce = 512;  // pages; a huge one moves as a whole

struct Mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "machine_push_out: %s\n", why.c_str());
  return 1;
}

// Private memory that can be written, in the order in which it was made: the
// program's own and the heap, then what mmap gave, from the highest down.
std::vector<Mapping> own_memory(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  std::vector<Mapping> low, mapped;
  bool heap_passed = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    Mapping one;
    char dash = 0;
    std::string permissions;
    if (!(in >> std::hex >> one.start >> dash >> one.end >> permissions) ||
        permissions.substr(0, 2) != "rw" || permissions.back() != 'p') {
      continue;
    }
    (heap_passed ? mapped : low).push_back(one);
    heap_passed |= line.find("[heap]") != std::string::npos;
  }
  low.insert(low.end(), mapped.rbegin(), mapped.rend());
  return low;
}

// Of these pages, those that lie on `node`.
bool on_node(int pid, int node, std::vector<void*>& pages) {
  std::vector<int> status(pages.size());
  if (::move_pages(pid, pages.size(), pages.data(), nullptr, status.data(),
                   0) != 0) {
    return false;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (status[i] == node) pages[kept++] = pages[i];
  }
  pages.resize(kept);
  return true;
}

// All there, first touched first.
bool find_pages(int pid, int node, std::vector<void*>& out) {
  std::vector<void*> some;
  for (const Mapping& one : own_memory(pid)) {
    for (std::uintptr_t at = one.start; at < one.end;) {
      some.clear();
      for (; at < one.end && some.size() < kAtOnce; at += kPage) {
        some.push_back(reinterpret_cast<void*>(at));
      }
      if (!on_node(pid, node, some)) return false;
      out.insert(out.end(), some.begin(), some.end());
    }
  }
  return true;
}

// All that it has there, files as well.
std::int64_t has_on(int pid, int node) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/numa_maps");
  const std::string key = "N" + std::to_string(node) + "=";
  std::int64_t pages = 0;
  for (std::string word; file >> word;) {
    if (word.rfind(key, 0) != 0) continue;
    std::int64_t count = 0;
    if (thermocline::read_number(word.substr(key.size()), 10, count))
      pages += count;
  }
  return pages * kPage;
}

bool parse(const char* text, std::int64_t& value) {
  return thermocline::read_number(text, 10, value) && value >= 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::int64_t number[4] = {};
  bool right = count == 5;
  for (int i = 0; right && i < 4; ++i) {
    right = parse(arguments[i + 1], number[i]);
  }
  if (!right || number[0] >= 1024 || number[1] >= 1024 ||
      number[2] > (1 << 30)) {
    return fail("usage: machine_push_out NODE OTHER PID BYTES");
  }
  const auto node = static_cast<int>(number[0]);
  const auto other = static_cast<int>(number[1]);
  const auto pid = static_cast<int>(number[2]);
  const std::int64_t wanted = number[3];

  std::vector<void*> pages;
  if (has_on(pid, node) > wanted && !find_pages(pid, node, pages)) {
    return fail("cannot ask where the pages of process " + std::to_string(pid) +
                " lie: " + std::strerror(errno));
  }
  std::int64_t has = has_on(pid, node);
  while (has > wanted && !pages.empty()) {
    const auto excess =
        static_cast<std::size_t>((has - wanted + kPage - 1) / kPage);
    const std::size_t some = std::min({excess, kAtOnce, pages.size()});
    std::vector<int> to(some, other);
    std::vector<int> status(some);
    if (::move_pages(pid, some, &pages[pages.size() - some], to.data(),
                     status.data(), MPOL_MF_MOVE) < 0) {
      return fail("cannot move pages of process " + std::to_string(pid) + ": " +
                  std::strerror(errno));
    }
    pages.resize(pages.size() - some);
    has = has_on(pid, node);
  }
  std::printf("%lld\n", static_cast<long long>(has));
  return 0;
}
