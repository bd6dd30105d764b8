// perf-script: the text that `perf script` prints for memory samples.
#include "tracer/import_lines.h"
#include "tracer/import_process.h"
#include "tracer/importer.h"
#include "tracer/perf_script.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr const char* kRemedy =
    "make it with perf script --show-mmap-events -F "
    "comm,pid,tid,cpu,time,period,event,addr,data_src,weight,ip";

class PerfScript final : public Importer {
 public:
  struct Options {
    std::int64_t pid = 0;
    void fields(auto& f) {
      f("pid", pid, std::int64_t{0}, std::int64_t{INT32_MAX},
        "keep only this process (needs pid among perf script's fields); 0: "
        "the samples of all");
    }
  };
  static Result<std::unique_ptr<Importer>> make(const Options& options) {
    return std::unique_ptr<Importer>(new PerfScript(options));
  }
  explicit PerfScript(const Options& options) : process_(options.pid) {}

  bool recognises(std::string_view head) const override {
    for (int lines = 0; lines < 1000 && !head.empty(); ++lines) {
      const auto end = head.find('\n');
      const auto line = head.substr(0, end);
      // DAMON's tracepoint is printed so, too, and is read by another.
      if (line.find(" damon:") != line.npos) return false;
      if (parse_script_line(line).kind != ScriptLine::Kind::kOther) return true;
      if (end == head.npos) break;
      head.remove_prefix(end + 1);
    }
    return false;
  }

  Status read(ImportInput& in, ImportedTrace& out) override {
    ImportLines lines(in);
    std::string_view line;
    Nanos newest = 0;
    while (lines.next(line)) {
      auto what = parse_script_line(line);
      switch (what.kind) {
        case ScriptLine::Kind::kOther: break;
        case ScriptLine::Kind::kUnaddressed: ++unaddressed_; break;
        case ScriptLine::Kind::kSample:
          newest = std::max(newest, what.sample.time);
          process_.add(what.sample, what.pid, out);
          break;
        case ScriptLine::Kind::kProcess:
          out.spend(sizeof(ProcessEvent) + line.size());
          process_.add(std::move(what.process));
          break;
        case ScriptLine::Kind::kLost:
          out.add(Loss{newest, "samples", what.lost});
          break;
      }
      if (auto room = out.room(in); !room) return room;
    }
    if (!lines.status()) return lines.status();
    if (out.trace.samples.empty() && unaddressed_ > 0) {
      return invalid(std::to_string(unaddressed_) +
                     " samples, none with an address; " + kRemedy);
    }
    if (unaddressed_ > 0) {
      out.note(std::to_string(unaddressed_) +
               " samples without an address were left out");
    }
    if (auto done = process_.finish(out); !done) return done;
    if (!out.trace.samples.empty()) return {};
    return corrupt("offset " + std::to_string(in.offset()) +
                   ": ends without one sample; " + kRemedy);
  }

 private:
  ImportProcess process_;
  std::uint64_t unaddressed_ = 0;
};

const Register<Importer> kEntry{
    "perf-script",
    entry<Importer, PerfScript>("What `perf script` prints, when it prints "
                                "times and addresses.")};

}  // namespace
}  // namespace thermocline
