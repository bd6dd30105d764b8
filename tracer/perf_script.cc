#include "tracer/perf_script.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <string>

#include "tracer/import_lines.h"
#include "tracer/words.h"

namespace thermocline {
namespace {

// Numbers are printed right-aligned in so many columns, symbols are not.
constexpr std::size_t kColumns = 16;

// What stands before a line's event.
struct Prefix {
  std::string_view name;  // COMM
  std::uint32_t pid = 0xffffffff;
  std::uint32_t tid = 0xffffffff;
  std::uint32_t cpu = 0;
  Nanos time = 0;
};

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

// "123", "12/123" or "12:123".
bool read_pair(std::string_view word, std::uint32_t& first,
               std::uint32_t& second) {
  const auto split = word.find_first_of("/:");
  std::uint64_t one = 0;
  std::uint64_t two = 0;
  if (word.substr(0, split) == "-1") {
    one = UINT32_MAX;
  } else if (!read_number(word.substr(0, split), 10, one)) {
    return false;
  }
  two = one;
  if (split != word.npos && !read_number(word.substr(split + 1), 10, two)) {
    return false;
  }
  first = narrow(one);
  second = narrow(two);
  return true;
}

// Takes what precedes the event off the line: up to the first word that is a
// time and a colon. False when there is none.
bool take_prefix(std::string_view& line, Prefix& prefix) {
  auto rest = line;
  std::array<std::string_view, 2> last;  // words before the time, newest first
  for (;;) {
    const auto word = take_word(rest);
    if (word.empty()) return false;
    const bool time =
        word.size() > 7 && word.back() == ':' && word.find('.') != word.npos &&
        read_seconds(word.substr(0, word.size() - 1), prefix.time);
    if (time) break;
    last = {word, last[0]};
  }
  auto ids = last[0];
  std::uint64_t cpu = 0;
  if (ids.size() > 2 && ids.front() == '[' &&
      read_number(ids.substr(1, ids.size() - 2), 10, cpu)) {
    prefix.cpu = narrow(cpu);
    ids = last[1];
  }
  if (!ids.empty() && read_pair(ids, prefix.pid, prefix.tid)) {
    const bool both = ids.find('/') != ids.npos;
    if (!both) prefix.pid = UINT32_MAX;
    const auto before =
        line.substr(0, static_cast<std::size_t>(ids.data() - line.data()));
    const auto begin = before.find_first_not_of(' ');
    const auto end = before.find_last_not_of(' ');
    if (begin != before.npos)
      prefix.name = before.substr(begin, end - begin + 1);
  }
  line = rest;
  return true;
}

// Takes a right-aligned number's digits off the line; empty when what follows
// is none.
std::string_view take_column(std::string_view& line) {
  auto rest = line;
  const auto word = take_word(rest);
  const bool digits =
      !word.empty() && word.find_first_not_of("0123456789abcdef") == word.npos;
  if (!digits || line.size() - rest.size() < kColumns) return {};
  line = rest;
  return word;
}

// Up to four columns from here; more are none of ours.
std::size_t take_columns(std::string_view& line,
                         std::array<std::string_view, 5>& columns) {
  std::size_t count = 0;
  while (count < columns.size()) {
    columns[count] = take_column(line);
    if (columns[count].empty()) break;
    ++count;
  }
  return count;
}

ScriptLine parse_sample(std::string_view line, const Prefix& prefix) {
  ScriptLine out;
  PerfSample sample;
  EventFormat format;
  // "PERIOD EVENT:", both of which may be missing.
  auto rest = line;
  auto word = take_word(rest);
  if (word.size() < kColumns && read_number(word, 10, sample.period)) {
    line = rest;
    word = take_word(rest);
  } else {
    sample.period = 1;
  }
  if (word.size() > 1 && word.back() == ':') {
    line = rest;
    if (word.find("store") != word.npos) {
      format.type = PERF_TYPE_RAW;
      format.config = 0x82d0;
    }
  }
  std::array<std::string_view, 5> columns;
  auto count = take_columns(line, columns);
  std::string_view address;
  std::string_view weight;
  std::string_view ip;
  const auto bar = line.find_first_not_of(' ');
  if (bar != line.npos && line[bar] == '|') {
    // The last column was the data source; its text ends before the weights.
    if (count < 2) {
      out.kind = ScriptLine::Kind::kUnaddressed;
      return out;
    }
    address = columns[count - 2];
    if (!read_number(columns[count - 1], 16, sample.data_source)) return out;
    line.remove_prefix(line.rfind('|') + 1);
    do {  // its last words
      count = take_columns(line, columns);
    } while (count == 0 && !take_word(line).empty());
    if (count >= 2) weight = columns[0];
    if (count >= 1) ip = columns[count - 1];
  } else {
    if (count < 2) {
      out.kind = ScriptLine::Kind::kUnaddressed;
      return out;
    }
    address = columns[0];
    if (count > 2) weight = columns[1];
    ip = columns[count - 1];
  }
  if (!read_number(address, 16, sample.address)) return out;
  if (!ip.empty() && !read_number(ip, 16, sample.ip)) return out;
  if (!weight.empty() && !read_number(weight, 10, sample.weight)) return out;
  sample.pid = prefix.pid;
  sample.tid = prefix.tid;
  sample.cpu = prefix.cpu;
  sample.time = static_cast<std::uint64_t>(prefix.time);
  out.kind = sample.address == 0 ? ScriptLine::Kind::kUnaddressed
                                 : ScriptLine::Kind::kSample;
  out.sample = to_access(format, sample);
  out.pid = sample.pid;
  return out;
}

// "PID/TID: [0xSTART(0xLENGTH) @ ...]: PERMISSIONS NAME"
bool parse_mapping(std::string_view line, ProcessEvent& event) {
  auto ids = take_word(line);
  if (ids.empty()) return false;
  ids.remove_suffix(1);
  const auto open = line.find('[');
  const auto length_at = line.find('(', open);
  const auto length_end = line.find(')', length_at);
  const auto close = line.find("]:", length_end);
  if (open == line.npos || close == line.npos) return false;
  auto& mapping = event.mapping;
  std::uint64_t length = 0;
  if (!read_pair(ids, event.pid, event.tid) ||
      !read_number(line.substr(open + 1, length_at - open - 1), 16,
                   mapping.start) ||
      !read_number(line.substr(length_at + 1, length_end - length_at - 1), 16,
                   length)) {
    return false;
  }
  mapping.time = event.time;
  mapping.end = mapping.start + std::min(length, UINT64_MAX - mapping.start);
  line.remove_prefix(close + 2);
  const auto permissions = take_word(line);
  // MMAP says only "x" or "r"; MMAP2 all.
  mapping.permissions = permissions == "x"   ? "r-x-"
                        : permissions == "r" ? "r---"
                                             : std::string(permissions);
  const auto begin = line.find_first_not_of(' ');
  if (begin != line.npos) mapping.name = line.substr(begin);
  if (mapping.name == "//anon") mapping.name.clear();
  return true;
}

// What follows "PERF_RECORD_".
ScriptLine parse_record(std::string_view line, const Prefix& prefix) {
  const auto starts = [&](std::string_view with) {
    if (line.substr(0, with.size()) != with) return false;
    line.remove_prefix(with.size());
    return true;
  };
  ScriptLine out;
  auto& event = out.process;
  event.time = prefix.time;
  bool good = false;
  if (starts("MMAP2 ") || starts("MMAP ")) {
    good = parse_mapping(line, event);
  } else if (starts("COMM")) {
    event.kind = ProcessEvent::Kind::kNamed;
    event.exec = starts(" exec");
    const auto split = line.rfind(':');  // "NAME:PID/TID" after ": "
    if (split != line.npos && split > 2) {
      event.name = line.substr(2, split - 2);
      good = read_pair(line.substr(split + 1), event.pid, event.tid);
    }
  } else if (const bool forked = starts("FORK("); forked || starts("EXIT(")) {
    // "PID:TID):(PARENT:ITS TID)"
    event.kind =
        forked ? ProcessEvent::Kind::kForked : ProcessEvent::Kind::kEnded;
    const auto close = line.find("):(");
    std::uint32_t unused = 0;
    good = close != line.npos && line.back() == ')' &&
           read_pair(line.substr(0, close), event.pid, event.tid) &&
           read_pair(line.substr(close + 3, line.size() - close - 4),
                     event.parent, unused);
  } else if (starts("LOST lost ")) {
    if (read_number(take_word(line), 10, out.lost)) {
      out.kind = ScriptLine::Kind::kLost;
    }
    return out;
  }
  if (good) out.kind = ScriptLine::Kind::kProcess;
  return out;
}

}  // namespace

ScriptLine parse_script_line(std::string_view line) {
  // Call chains are indented by a tab, comments begin with a '#'.
  if (line.empty() || line[0] == '\t' || line[0] == '#') return {};
  Prefix prefix;
  if (!take_prefix(line, prefix)) return {};
  constexpr std::string_view kRecord = "PERF_RECORD_";
  const auto at = line.find_first_not_of(' ');
  if (at != line.npos && line.substr(at, kRecord.size()) == kRecord) {
    return parse_record(line.substr(at + kRecord.size()), prefix);
  }
  return parse_sample(line, prefix);
}

}  // namespace thermocline
