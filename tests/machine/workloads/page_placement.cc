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

Status check(const PagePlacement& placement) {
  const auto node_known = [](int node) {
    return node >= 0 && node < kMostNodes;
  };
  if (!node_known(placement.rest)) return invalid("rest: no such node");
  Address before = 0;
  for (const auto& range : placement.ranges) {
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

Result<PagePlacement> parse(const nlohmann::json& one) {
  PagePlacement placement;
  if (!one.is_object() || !one.contains("name") || !one["name"].is_string() ||
      !one.contains("rest") || !one["rest"].is_number_integer() ||
      !one.contains("ranges") || !one["ranges"].is_array()) {
    return invalid("a placement has name, rest and ranges");
  }
  placement.name = one["name"].get<std::string>();
  placement.rest = one["rest"].get<int>();
  for (const auto& range : one["ranges"]) {
    if (!range.is_array() || range.size() != 3 ||
        !range[0].is_number_unsigned() || !range[1].is_number_unsigned() ||
        !range[2].is_number_integer()) {
      return invalid(placement.name + ": a range is [start, end, node]");
    }
    placement.ranges.push_back({range[0].get<Address>(),
                                range[1].get<Address>(), range[2].get<int>()});
  }
  if (auto ok = check(placement); !ok) return ok.error().within(placement.name);
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

}  // namespace thermocline
