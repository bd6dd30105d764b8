// perf-data: what `perf record` writes, a perf.data file or a pipe stream.
#include <algorithm>

#include "tracer/import_process.h"
#include "tracer/importer.h"
#include "tracer/perf_file.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

class PerfData final : public Importer {
 public:
  struct Options {
    std::int64_t pid = 0;
    void fields(auto& f) {
      f("pid", pid, std::int64_t{0}, std::int64_t{INT32_MAX},
        "keep only this process; 0: the samples of all");
    }
  };
  static Result<std::unique_ptr<Importer>> make(const Options& options) {
    return std::unique_ptr<Importer>(new PerfData(options));
  }
  explicit PerfData(const Options& options) : process_(options.pid) {}

  bool recognises(std::string_view head) const override {
    return head.substr(0, 8) == "PERFILE2" || head.substr(0, 8) == "2ELIFREP";
  }

  Status read(ImportInput& in, ImportedTrace& out) override {
    auto status = read_all(in, out);
    describe(out);
    // What was counted holds for what precedes an error, too.
    auto chosen = process_.finish(out);
    if (!status) return status;
    if (!chosen) return chosen;
    if (out.trace.samples.empty() && unaddressed_) {
      out.note("no sample has an address; record with perf record -d");
    }
    return {};
  }

 private:
  Status read_all(ImportInput& in, ImportedTrace& out) {
    for (;;) {
      const auto bytes = in.next();
      if (!bytes) return bytes.error();
      if (bytes->empty()) break;
      // In small steps: what is packed in a few bytes may be much.
      for (auto rest = *bytes; !rest.empty();) {
        const auto step = rest.first(std::min(rest.size(), kStep));
        rest = rest.subspan(step.size());
        auto fed = file_.feed(step, batch_, events_);
        take(out);
        if (!fed) return fed;
        if (auto room = out.room(in); !room) return room;
      }
    }
    std::string remark;
    auto whole = file_.finish(&remark);
    if (!remark.empty()) out.note(remark);
    return whole;
  }

  // Moves what came to its place.
  void take(ImportedTrace& out) {
    for (std::size_t i = 0; i < batch_.samples.size(); ++i) {
      process_.add(batch_.samples[i], batch_.pids[i], out);
    }
    for (auto& counters : batch_.counters) out.add(std::move(counters));
    for (auto& event : events_) {
      out.spend(sizeof(ProcessEvent) + event.name.size() +
                event.mapping.name.size());
      process_.add(std::move(event));
    }
    newest_ = std::max(newest_, batch_.newest);
    out.add(Loss{newest_, "samples", batch_.lost});
    out.add(Loss{newest_, "malformed", batch_.malformed});
    unaddressed_ = unaddressed_ || batch_.newest >= 0;
    batch_.samples.clear();
    batch_.pids.clear();
    batch_.counters.clear();
    batch_.lost = batch_.malformed = batch_.throttled = 0;
    events_.clear();
  }

  void describe(ImportedTrace& out) const {
    auto& info = out.trace.info;
    info.command = file_.features().job();
    info.host = file_.features().host();
    info.clock = file_.virtual_clock() ? "virtual" : "monotonic";
    info.emulated = file_.virtual_clock();
  }

  static constexpr std::size_t kStep = std::size_t{64} << 10;

  ImportProcess process_;
  PerfFile file_;
  SampleBatch batch_;
  std::vector<ProcessEvent> events_;
  Nanos newest_ = 0;
  bool unaddressed_ = false;  // samples came, with an address or without
};

const Register<Importer> kEntry{
    "perf-data",
    entry<Importer, PerfData>("A perf.data file, or what `perf record -o -` "
                              "writes; compressed records (-z), too.")};

}  // namespace
}  // namespace thermocline
