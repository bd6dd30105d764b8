#include "tests/machine/workloads/page_placement.h"

#include <numaif.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

constexpr Address kPage = 4096;
constexpr std::size_t kBatch = 4096;  // pages handed to the kernel at once
constexpr int kAttempts = 3;          // a page may be busy for an instant
constexpr int kMostNodes = 64;

bool node_known(int node) { return node >= 0 && node < kMostNodes; }

Status check(const std::vector<PagePlacement::Range>& ranges) {
  Address before = 0;
  for (const auto& range : ranges) {
    if (range.start % kPage != 0 || range.end % kPage != 0) {
      return invalid("a range is not of whole pages");
    }
    if (range.start < before || range.end <= range.start) {
      return invalid("ranges are empty, overlap or are out of order");
    }
    if (!node_known(range.node)) return invalid("a range has no such node");
    before = range.end;
  }
  return {};
}

Result<std::vector<PagePlacement::Range>> parse_ranges(
    const nlohmann::json& all) {
  std::vector<PagePlacement::Range> ranges;
  for (const auto& range : all) {
    if (!range.is_array() || range.size() != 3 ||
        !range[0].is_number_unsigned() || !range[1].is_number_unsigned() ||
        !range[2].is_number_integer()) {
      return invalid("a range is [start, end, node]");
    }
    ranges.push_back({range[0].get<Address>(), range[1].get<Address>(),
                      range[2].get<int>()});
  }
  if (auto ok = check(ranges); !ok) return ok.error();
  return ranges;
}

Result<std::vector<PagePlacement::Move>> parse_moves(
    const nlohmann::json& all) {
  std::vector<PagePlacement::Move> moves;
  for (const auto& one : all) {
    if (!one.is_object() || !one.contains("step") ||
        !one["step"].is_number_unsigned() || !one.contains("ranges")) {
      return invalid("a move has step and ranges");
    }
    auto ranges = parse_ranges(one["ranges"]);
    if (!ranges) return ranges.error();
    moves.push_back({one["step"].get<std::uint64_t>(), *std::move(ranges)});
    if (moves.size() > 1 && moves.back().step < moves.end()[-2].step) {
      return invalid("steps of moves decrease");
    }
  }
  return moves;
}

Result<PagePlacement> parse(const nlohmann::json& one) {
  PagePlacement placement;
  if (!one.is_object() || !one.contains("name") || !one["name"].is_string() ||
      !one.contains("rest") || !one["rest"].is_number_integer() ||
      !one.contains("ranges") || !one["ranges"].is_array()) {
    return invalid("a placement has name, rest and ranges");
  }
  placement.name = one["name"].get<std::string>();
  placement.rest = one["rest"].get<int>();
  if (!node_known(placement.rest)) {
    return invalid("rest: no such node").within(placement.name);
  }
  auto ranges = parse_ranges(one["ranges"]);
  if (!ranges) return ranges.error().within(placement.name);
  placement.ranges = *std::move(ranges);
  if (one.contains("moves")) {
    auto moves = parse_moves(one["moves"]);
    if (!moves) return moves.error().within(placement.name);
    placement.moves = *std::move(moves);
  }
  return placement;
}

struct Page {
  Address address;
  int node;  // where it shall lie
};

// The pages of all private writable memory, the kernel's own areas apart.
std::vector<Page> own_pages(const PagePlacement& placement) {
  std::vector<Page> pages;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  auto range = placement.ranges.begin();
  while (std::getline(maps, line)) {
    unsigned long long start = 0, end = 0;
    char permissions[8] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %7s", &start, &end, permissions) !=
            3 ||
        std::strcmp(permissions, "rw-p") != 0) {
      continue;
    }
    for (Address page = start; page < end; page += kPage) {
      while (range != placement.ranges.end() && range->end <= page) ++range;
      const bool inside =
          range != placement.ranges.end() && range->start <= page;
      pages.push_back({page, inside ? range->node : placement.rest});
    }
  }
  return pages;
}

// move_pages(2): to the pages' nodes, or, if `ask`, to hear where they lie.
// Statuses are nodes or negative errors.
Status call(const std::vector<Page>& pages, bool ask,
            std::vector<int>& statuses) {
  statuses.assign(pages.size(), -EINVAL);
  for (std::size_t from = 0; from < pages.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, pages.size() - from);
    std::vector<void*> addresses;
    std::vector<int> nodes;
    for (std::size_t i = from; i < from + count; ++i) {
      addresses.push_back(reinterpret_cast<void*>(pages[i].address));  // NOLINT
      nodes.push_back(pages[i].node);
    }
    if (move_pages(0, count, addresses.data(), ask ? nullptr : nodes.data(),
                   statuses.data() + from, MPOL_MF_MOVE) < 0) {
      return io(std::string("move_pages: ") + std::strerror(errno));
    }
  }
  return {};
}

// Lies elsewhere; an allocator's page may have gone meanwhile.
bool is_stray(int status, const Page& page) {
  return status >= 0 && status != page.node;
}

// Writes what is there, so that it is this process's alone.
void make_own(Address page) {
  auto* const byte = reinterpret_cast<volatile char*>(page);  // NOLINT
  *byte = *byte;
}

}  // namespace

Result<std::vector<PagePlacement>> load_placements(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found(path + ": " + std::strerror(errno));
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_array()) return invalid(path + ": is no JSON list");
  std::vector<PagePlacement> placements;
  for (const auto& one : json) {
    auto placement = parse(one);
    if (!placement) return placement.error().within(path);
    placements.push_back(*std::move(placement));
  }
  return placements;
}

Status place(const PagePlacement& placement) {
  const unsigned long mask = 1UL << placement.rest;
  if (set_mempolicy(MPOL_BIND, &mask, kMostNodes + 1) != 0) {
    return io(std::string("set_mempolicy: ") + std::strerror(errno));
  }
  std::vector<Page> pages = own_pages(placement);
  std::vector<int> statuses;
  if (auto ok = call(pages, /*ask=*/true, statuses); !ok) return ok.error();
  std::vector<Page> present;
  present.reserve(pages.size());
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (statuses[i] >= 0) present.push_back(pages[i]);
  }
  for (const Page& page : present) make_own(page.address);
  for (int attempt = 0; attempt < kAttempts && !present.empty(); ++attempt) {
    if (auto ok = call(present, true, statuses); !ok) return ok.error();
    std::vector<Page> elsewhere;
    for (std::size_t i = 0; i < present.size(); ++i) {
      if (is_stray(statuses[i], present[i])) elsewhere.push_back(present[i]);
    }
    present.swap(elsewhere);
    if (auto ok = call(present, false, statuses); !ok) return ok.error();
  }
  if (auto ok = call(present, true, statuses); !ok) return ok.error();
  std::size_t stray = 0;
  for (std::size_t i = 0; i < present.size(); ++i) {
    stray += is_stray(statuses[i], present[i]);
  }
  if (stray == 0) return {};
  return io(placement.name + ": " + std::to_string(stray) +
            " pages do not lie where they should");
}

Result<std::size_t> move(const PagePlacement::Move& move) {
  constexpr std::size_t kAtOnce = 512;
  std::vector<Page> pages;
  std::vector<int> statuses;
  std::size_t moved = 0;
  const auto flush = [&]() -> Status {
    if (auto ok = call(pages, /*ask=*/false, statuses); !ok) return ok;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      moved += statuses[i] == pages[i].node ? 1 : 0;
    }
    pages.clear();
    return {};
  };
  for (const auto& range : move.ranges) {
    for (Address page = range.start; page < range.end; page += kPage) {
      pages.push_back({page, range.node});
      if (pages.size() < kAtOnce) continue;
      if (auto ok = flush(); !ok) return ok.error();
    }
  }
  if (auto ok = flush(); !ok) return ok.error();
  return moved;
}

}  // namespace thermocline
