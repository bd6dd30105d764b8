// lackey: the memory trace of Valgrind's lackey (--tool=lackey
// --trace-mem=yes): every access of a program, with no time.
//
// Lines are "I  ADDRESS,SIZE" for an instruction, " L", " S" or " M" for a
// load, a store or both by the instruction before (lackey/lk_main.c); what
// Valgrind and the program print stands between them. For a clock there are
// the instructions: one is one nanosecond.
#include <charconv>

#include "tracer/import_lines.h"
#include "tracer/importer.h"
#include "tracer/words.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

// One line of the trace: its kind and its address.
bool parse(std::string_view line, char& kind, Address& address) {
  // "I  04000a5e,3" or " L 1ffeffe7e0,8".
  if (line.size() < 6 || line[2] != ' ') return false;
  const bool instruction = line[0] == 'I' && line[1] == ' ';
  kind = instruction ? 'I' : line[1];
  if (!instruction &&
      (line[0] != ' ' || (kind != 'L' && kind != 'S' && kind != 'M'))) {
    return false;
  }
  const char* const end = line.data() + line.size();
  const auto [comma, bad] = std::from_chars(line.data() + 3, end, address, 16);
  if (bad != std::errc() || comma == end || *comma != ',') return false;
  unsigned size = 0;
  const auto [rest, error] = std::from_chars(comma + 1, end, size);
  return error == std::errc() && rest == end;
}

class Lackey final : public Importer {
 public:
  struct Options {
    std::int64_t period = 1;
    void fields(auto& f) {
      f("period", period, std::int64_t{1}, std::int64_t{1'000'000'000},
        "keep one of so many accesses; a prime avoids beats with loops");
    }
  };
  static Result<std::unique_ptr<Importer>> make(const Options& options) {
    return std::unique_ptr<Importer>(new Lackey(options));
  }
  explicit Lackey(const Options& options) : period_(options.period) {}

  bool recognises(std::string_view head) const override {
    // Its name in the banner, or three lines of a trace in a row.
    if (head.find("== Lackey, an example Valgrind tool") != head.npos) {
      return true;
    }
    int in_a_row = 0;
    for (std::size_t at = 0; at < head.size();) {
      const auto end = head.find('\n', at);
      char kind = 0;
      Address address = 0;
      const auto line = head.substr(at, end - at);
      in_a_row = parse(line, kind, address) ? in_a_row + 1 : 0;
      if (in_a_row == 3) return true;
      if (end == head.npos) break;
      at = end + 1;
    }
    return false;
  }

  Status read(ImportInput& in, ImportedTrace& out) override {
    out.trace.info.clock = "instructions";
    ImportLines lines(in);
    std::string_view line;
    std::uint64_t others = 0;
    while (lines.next(line)) {
      char kind = 0;
      Address address = 0;
      if (!parse(line, kind, address)) {
        banner(line, out);
        others += line.substr(0, 2) == "==" || line.empty() ? 0 : 1;
        continue;
      }
      if (kind == 'I') {
        ++now_;
        ip_ = address;
        continue;
      }
      if (kind != 'S') access(address, Access::kLoad, out);
      if (kind != 'L') access(address, Access::kStore, out);
      if (auto room = out.room(in); !room) return room;
    }
    if (!lines.status()) return lines.status();
    if (accesses_ == 0) {
      return corrupt("offset " + std::to_string(in.offset()) +
                     ": ends without one access; make it with valgrind " +
                     "--tool=lackey --trace-mem=yes");
    }
    out.note("lackey knows no time: one instruction is shown as 1 ns");
    if (others > 0) {
      out.note(std::to_string(others) + " lines are not lackey's");
    }
    out.add(Mark{0, "start"});
    out.add(Mark{now_, "end"});
    return {};
  }

 private:
  void access(Address address, Access what, ImportedTrace& out) {
    if (accesses_++ % period_ != 0) return;
    Sample sample;
    sample.time = now_;
    sample.address = address;
    sample.ip = ip_;
    sample.access = what;
    sample.period = static_cast<std::uint32_t>(period_);
    out.add(sample);
  }

  // "==PID== Command: ./job 1 2"
  static void banner(std::string_view line, ImportedTrace& out) {
    const auto at = line.find("== Command: ");
    auto& command = out.trace.info.command;
    if (at == line.npos || !command.empty()) return;
    auto words = line.substr(at + std::string_view("== Command: ").size());
    for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
      command.emplace_back(word);
    }
  }

  std::int64_t period_;
  std::int64_t accesses_ = 0;
  Nanos now_ = 0;
  Address ip_ = 0;
};

const Register<Importer> kEntry{
    "lackey",
    entry<Importer, Lackey>("Valgrind's lackey with --trace-mem=yes: every "
                            "access, in instructions instead of time.")};

}  // namespace
}  // namespace thermocline
