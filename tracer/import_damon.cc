// damon: what DAMON's `damo record` writes: its JSON, compressed or not, and
// the text of its tracepoint as `perf script` prints it.
//
// In the JSON a record of each target has snapshots of regions; numbers may be
// texts with commas or units ("4,198,400", "1 s 200 ms"). The text has a line
// a region (_damo_records.py):
//   kdamond.0 1 [0] 8.5: damon:damon_aggregated: target_id=0 nr_regions=9
//   94121750528-94121754624: 3 12
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tracer/damon_regions.h"
#include "tracer/import_json.h"
#include "tracer/import_lines.h"
#include "tracer/words.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

// A number, or a text of digits and commas.
bool read_count(const json& from, std::uint64_t& value) {
  if (from.is_number_unsigned()) {
    value = from.get<std::uint64_t>();
    return true;
  }
  if (!from.is_string()) return false;
  auto text = from.get<std::string>();
  std::erase(text, ',');
  return read_number(text, 10, value);
}

Nanos unit_ns(std::string_view unit) {
  if (unit == "ns" || unit.empty()) return 1;
  if (unit == "us") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  if (unit == "m") return 60'000'000'000;
  if (unit == "h") return 3'600'000'000'000;
  if (unit == "d") return 86'400'000'000'000;
  return 0;
}

// Nanoseconds as a number, or a text: "12,345", "1 h 2 m 3.500 s".
bool read_time(const json& from, Nanos& value) {
  constexpr double kMost = 9e18;
  double sum = 0;
  if (from.is_number()) {
    sum = from.get<double>();
    if (from.is_number_unsigned()) {
      value = static_cast<Nanos>(
          std::min<std::uint64_t>(from.get<std::uint64_t>(), INT64_MAX));
      return true;
    }
  } else if (from.is_string()) {
    auto text = from.get<std::string>();
    std::erase(text, ',');
    std::uint64_t plain = 0;
    if (read_number(text, 10, plain) && plain <= INT64_MAX) {
      value = static_cast<Nanos>(plain);
      return true;
    }
    std::string_view rest = text;
    for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
      Nanos number = 0;  // of billionths
      if (!read_seconds(word, number)) return false;
      const auto unit = unit_ns(take_word(rest));
      if (unit == 0) return false;
      sum += static_cast<double>(number) * 1e-9 * static_cast<double>(unit);
    }
  } else {
    return false;
  }
  if (!(sum >= 0 && sum < kMost)) return false;
  value = static_cast<Nanos>(sum);
  return true;
}

class Damon final : public Importer {
 public:
  struct Options {
    std::int64_t points = 16;
    void fields(auto& f) {
      f("points", points, std::int64_t{1}, std::int64_t{65'536},
        "samples that stand for a region in a snapshot, at most");
    }
  };
  static Result<std::unique_ptr<Importer>> make(const Options& options) {
    return std::unique_ptr<Importer>(new Damon(options));
  }
  explicit Damon(const Options& options) : regions_(options.points) {}

  bool recognises(std::string_view head) const override {
    const auto has = [&](const char* what) {
      return head.find(what) != head.npos;
    };
    return has(kTracepoint) || is_binary(head) ||
           (is_json(head) && has("\"snapshots\"") && has("\"regions\""));
  }

  Status read(ImportInput& in, ImportedTrace& out) override {
    if (is_binary(in.head())) {
      return unsupported(
          "offset 0: damo's old binary record; convert it with damo "
          "convert_record_format");
    }
    auto status = is_json(in.head()) ? read_json(in, out) : read_text(in, out);
    if (!status) return status;
    return regions_.finish(out).within("offset " + std::to_string(in.offset()));
  }

 private:
  static constexpr const char* kTracepoint = " damon:damon_aggregated: ";

  static bool is_binary(std::string_view head) {
    return head.substr(0, 16) == "damon_recfmt_ver";
  }
  static bool is_json(std::string_view head) {
    const auto first = head.find_first_not_of(" \t\r\n");
    return first != head.npos && (head[first] == '[' || head[first] == '{');
  }

  Status read_json(ImportInput& in, ImportedTrace& out) {
    std::uint32_t target = 0;
    JsonUse use;
    use.list = "snapshots";
    use.member = [&](const std::string& key, json& what) -> Status {
      // It precedes the record's snapshots.
      if (key == "target_id") target = regions_.target_number(what.dump());
      return {};
    };
    use.element = [&](json& snapshot) -> Status {
      DamonRegion region;
      region.target = target;
      if (!read_time(member_of(snapshot, "end_time"), region.time)) {
        return corrupt("a snapshot has no end_time; make it with damo record");
      }
      const auto& all = member_of(snapshot, "regions");
      if (!all.is_array()) {
        return corrupt("a snapshot has no regions; make it with damo record");
      }
      for (const auto& one : all) {
        const auto& accesses = member_of(one, "nr_accesses");
        const auto& count =
            accesses.is_object() ? member_of(accesses, "samples") : accesses;
        // damo marks a made-up last snapshot with -1.
        if (count.is_number() && count.get<double>() < 0) continue;
        if (!read_count(member_of(one, "start"), region.start) ||
            !read_count(member_of(one, "end"), region.end) ||
            !read_count(count, region.accesses)) {
          return corrupt(
              "a region lacks start, end or nr_accesses in samples; make it "
              "with damo record");
        }
        if (auto added = regions_.add(region, out); !added) return added;
        if (auto room = out.room(in); !room) return room;
      }
      return {};
    };
    return read_json_list(in, use);
  }

  Status read_text(ImportInput& in, ImportedTrace& out) {
    ImportLines lines(in);
    std::string_view line;
    while (lines.next(line)) {
      const auto found = line.find(kTracepoint);
      if (found == line.npos) continue;
      DamonRegion region;
      if (!read_line(line.substr(0, found),
                     line.substr(found + std::string_view(kTracepoint).size()),
                     region)) {
        return lines.wrong("a region of DAMON's is cut or malformed");
      }
      if (auto added = regions_.add(region, out); !added) {
        return lines.wrong(added.error().message);
      }
      if (auto room = out.room(in); !room) return room;
    }
    return lines.status();
  }

  // "... 82877.315633:" and "target_id=0 nr_regions=17 START-END: COUNT AGE".
  bool read_line(std::string_view before, std::string_view after,
                 DamonRegion& region) {
    const auto blank = before.find_last_of(' ');
    auto time = before.substr(blank == before.npos ? 0 : blank + 1);
    if (time.empty() || time.back() != ':') return false;
    time.remove_suffix(1);
    const auto target = take_word(after);
    take_word(after);  // nr_regions
    const auto range = take_word(after);
    const auto dash = range.find('-');
    if (dash == range.npos || range.back() != ':' ||
        target.substr(0, 10) != "target_id=") {
      return false;
    }
    region.target = regions_.target_number(std::string(target));
    return read_seconds(time, region.time) &&
           read_number(range.substr(0, dash), 10, region.start) &&
           read_number(range.substr(dash + 1, range.size() - dash - 2), 10,
                       region.end) &&
           read_number(take_word(after), 10, region.accesses);
  }

  DamonRegions regions_;
};

const Register<Importer> kEntry{
    "damon",
    entry<Importer, Damon>("What DAMON's `damo record` writes: JSON, or the "
                           "text of its tracepoint.")};

}  // namespace
}  // namespace thermocline
