// PagePlacement: on which NUMA node each page of a process lies, and which
// pages are moved while it runs; read from a file, and carried out on this
// process.
//
// Thread safety: place() is for a process with one thread; move() may be called
// beside others that work. Addresses are this
// process's own: a file made for another run holds where addresses are not
// randomised (setarch -R).
#pragma once

#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

struct PagePlacement {
  struct Range {
    Address start = 0;  // of a page
    Address end = 0;
    int node = 0;
  };
  struct Move {
    std::uint64_t step = 0;     // before which it begins
    std::vector<Range> ranges;  // as below
  };
  std::string name;
  int rest = 0;  // node of what is in no range, and of pages to come
  std::vector<Range> ranges;  // in order, apart from each other
  std::vector<Move> moves;    // steps never decrease
};

/// Reads a JSON list of placements:
///   [{"name": "half", "rest": 1, "ranges": [[65536, 131072, 0], ...]}, ...]
/// a range being first address, address past the last, node; and, where pages
/// are moved, "moves": [{"step": 4, "ranges": [...]}, ...]. Errors, with the
/// path: kNotFound, kIo; kInvalid for what is no such list, ranges that are
/// not whole pages, empty, out of order or overlapping, negative nodes, and
/// steps that decrease.
Result<std::vector<PagePlacement>> load_placements(const std::string& path);

/// Moves this process's private writable pages to where they belong, and lets
/// pages to come be born on `rest`. What a fork still shares is copied first.
/// Errors: kIo when the kernel refuses, or when pages do not lie there after
/// all, with their number.
Status place(const PagePlacement& placement);

/// Moves the pages of these ranges that are there, as a daemon does: by
/// move_pages(2), 512 at a time, one try. Returns: how many went. Errors: kIo.
Result<std::size_t> move(const PagePlacement::Move& move);

}  // namespace thermocline
