#include "tracer/maps.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tracer/words.h"

namespace thermocline {
namespace {

// Takes fields off the front of a line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  std::optional<std::uint64_t> number(int base) {
    std::uint64_t value = 0;
    const auto* begin = rest_.data();
    const auto [end, error] =
        std::from_chars(begin, begin + rest_.size(), value, base);
    if (error != std::errc() || end == begin) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - begin));
    return value;
  }
  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take(std::size_t count) {
    const auto out = rest_.substr(0, count);
    rest_.remove_prefix(out.size());
    return out;
  }
  void skip_blanks() {
    while (take(' ')) {
    }
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

bool are_permissions(std::string_view text) {
  return text.size() == 4 && (text[0] == 'r' || text[0] == '-') &&
         (text[1] == 'w' || text[1] == '-') &&
         (text[2] == 'x' || text[2] == '-') &&
         (text[3] == 'p' || text[3] == 's');
}

// "55d0c1e00000-55d0c1e22000 rw-p 0001f000 fe:00 1234   /path" as in
// fs/proc/task_mmu.c, show_map_vma().
std::optional<Area> parse_line(std::string_view line) {
  Cursor cursor(line);
  Area area;
  const auto start = cursor.number(16);
  if (!start || !cursor.take('-')) return std::nullopt;
  const auto end = cursor.number(16);
  if (!end || *end <= *start || !cursor.take(' ')) return std::nullopt;
  area.start = *start;
  area.end = *end;
  area.permissions = cursor.take(std::size_t{4});
  if (!are_permissions(area.permissions) || !cursor.take(' ') ||
      !cursor.number(16) || !cursor.take(' ') || !cursor.number(16) ||
      !cursor.take(':') || !cursor.number(16) || !cursor.take(' ')) {
    return std::nullopt;
  }
  const auto inode = cursor.number(10);
  if (!inode) return std::nullopt;
  area.inode = *inode;
  if (cursor.rest().empty()) return area;
  if (!cursor.take(' ')) return std::nullopt;
  cursor.skip_blanks();
  area.name = cursor.rest();
  return area;
}

template <typename Each>
void for_each_line(std::string_view text, Each each) {
  while (!text.empty()) each(take_line(text));
}

}  // namespace

Maps parse_maps(std::string_view text) {
  Maps maps;
  maps.areas.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')) +
                     1);
  for_each_line(text, [&](std::string_view line) {
    auto area = parse_line(line);
    // The file is not read in one piece: a map that changes meanwhile may
    // show an area twice.
    const bool fits =
        area && (maps.areas.empty() || area->start >= maps.areas.back().end);
    if (fits) {
      maps.areas.push_back(*std::move(area));
    } else {
      ++maps.malformed;
    }
  });
  return maps;
}

NumaMaps parse_numa_maps(std::string_view text) {
  NumaMaps out;
  for_each_line(text, [&](std::string_view line) {
    Cursor cursor(line);
    const auto start = cursor.number(16);
    if (!start || !cursor.take(' ')) return;
    const auto rest = cursor.rest();
    if (rest.starts_with("bind:") || rest.starts_with("bind=")) {
      out.bound.insert(*start);
    }
    // A file's name has no blanks here: they are written as \040.
    if (rest.ends_with(" huge") || rest.find(" huge ") != rest.npos) {
      out.hugetlb.insert(*start);
    }
  });
  return out;
}

}  // namespace thermocline
