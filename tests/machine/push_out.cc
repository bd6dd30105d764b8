// machine_push_out: takes from a process what it has too much of on a node.
//
//   machine_push_out NODE OTHER PID BYTES
//
// Moves BYTES of PID's own memory from NODE to OTHER, or what can be moved; a
// huge page moves as a whole. Those pages go that it touched last, as far as
// addresses tell: a program that allocates one array after the other and fills
// each from its beginning gets mappings at ever lower addresses. So that a job
// which got ready while the kernel gave memory back has what it would have had
// otherwise. PID should wait meanwhile.
#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tracer/maps.h"
#include "tracer/words.h"

namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::size_t kAtOnce = 512;  // pages; a huge one moves as a whole

int fail(const std::string& why) {
  std::fprintf(stderr, "machine_push_out: %s\n", why.c_str());
  return 1;
}

// Private memory that can be written, in the order in which it was made: the
// program's own and the heap, then what mmap gave, from the highest down.
std::vector<thermocline::Area> own_memory(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<thermocline::Area> out;
  std::size_t low = 0;  // up to the heap
  for (auto& one : thermocline::parse_maps(text).areas) {
    if (!one.writable() || one.shared()) continue;
    const bool heap = one.name == "[heap]";
    out.push_back(std::move(one));
    if (heap) low = out.size();
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(low), out.end());
  return out;
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
  for (const thermocline::Area& one : own_memory(pid)) {
    for (thermocline::Address at = one.start; at < one.end;) {
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
  auto left = static_cast<std::size_t>((number[3] + kPage - 1) / kPage);

  std::vector<void*> pages;
  if (left > 0 && !find_pages(pid, node, pages)) {
    return fail("cannot ask where the pages of process " + std::to_string(pid) +
                " lie: " + std::strerror(errno));
  }
  while (left > 0 && !pages.empty()) {
    const std::size_t some = std::min({left, kAtOnce, pages.size()});
    std::vector<void*> going(pages.end() - static_cast<std::ptrdiff_t>(some),
                             pages.end());
    pages.resize(pages.size() - some);
    const std::vector<int> to(some, other);
    std::vector<int> status(some);
    if (::move_pages(pid, some, going.data(), to.data(), status.data(),
                     MPOL_MF_MOVE) < 0 ||
        !on_node(pid, node, going)) {
      return fail("cannot move pages of process " + std::to_string(pid) + ": " +
                  std::strerror(errno));
    }
    left -= some - going.size();  // who stayed
  }
  return 0;
}
