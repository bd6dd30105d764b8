#include "daemon/report_origins.h"

#include <nlohmann/json.hpp>

#include "daemon/units.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

Json line(const char* what, const char* how, std::string text) {
  return {{"what", what}, {"how", how}, {"text", std::move(text)}};
}

Json run_line(const ReportedRun& run) {
  const Trace& trace = run.read.trace;
  const std::string time =
      show_seconds(static_cast<double>(trace.run_ns()) / 1e9);
  const std::string where = trace.info.placement.empty()
                                ? "a placement that it does not say"
                                : trace.info.placement;
  std::string text = run.file + ": " + time + " under " + where;
  if (!trace.end.known) text += ", as far as the trace was read";
  if (trace.info.emulated) {
    return line("Run time", "emulated",
                text + ", on an emulated machine's " + trace.info.clock +
                    " clock: not what hardware would take");
  }
  return line("Run time", "measured", text + ", on " + trace.info.host);
}

Json accesses_line(const Trace& trace) {
  if (trace.samples.empty()) {
    return line("Accesses", "counted",
                "no samples: operators are taken to read and write their "
                "tensors whole; caches are not seen");
  }
  const std::string count = std::to_string(trace.samples.size());
  if (trace.info.source.rfind("pages", 0) == 0) {
    return line("Accesses", "sampled",
                count + " times a page was found touched (" +
                    trace.info.source + "): that it was, not how often");
  }
  return line(
      "Accesses", "sampled",
      count + " sampled" +
          (trace.info.source.empty() ? "" : " by " + trace.info.source) +
          ", each counted as often as its period says; " +
          std::to_string(trace.lost()) + " known to be lost");
}

// "dram measured, optane assumed": of each tier the weakest of its figures.
Json machine_line(const Machine& machine) {
  std::string text = machine.name + ": ";
  bool measured = true;
  for (const Tier& tier : machine.tiers) {
    std::string words;
    for (const Figure& figure : kFigures) {
      const Obtained obtained = (tier.origins.*figure.origin).obtained;
      measured = measured && obtained == Obtained::kMeasured;
      const std::string word = !(tier.*figure.value > 0) ? "not known"
                               : obtained == Obtained::kUnsaid
                                   ? "as its file says"
                                   : word_of(obtained);
      if (words.find(word) != std::string::npos) continue;
      words += (words.empty() ? "" : ", ") + word;
    }
    text +=
        (&tier == machine.tiers.data() ? "" : "; ") + tier.name + " " + words;
  }
  return line("The machine's latencies and bandwidths",
              machine.emulated ? "emulated"
              : measured       ? "measured"
                               : "declared",
              text);
}

Json endpoint_line(const char* what, bool measured, bool emulated,
                   const char* option) {
  if (measured) {
    return line(what, emulated ? "emulated" : "measured",
                "the job ran so; all else is compared with it");
  }
  return line(what, "modelled",
              std::string("from the machine's figures; to measure it, record "
                          "the job with --placement ") +
                  option + " and give that trace as well");
}

}  // namespace

Json origins_json(const std::vector<ReportedRun>& runs, const Machine* machine,
                  const ReportedWhatIf& what_if) {
  Json out = Json::array();
  for (const ReportedRun& run : runs) out.push_back(run_line(run));
  const Trace& trace = runs.front().read.trace;
  out.push_back(accesses_line(trace));
  if (!trace.tensors.empty()) {
    out.push_back(line("Memory of tensors", "counted",
                       "every allocation and release that the framework's "
                       "allocator made, seen from inside the job"));
  }
  if (machine != nullptr) out.push_back(machine_line(*machine));
  if (!what_if.present) return out;
  const bool emulated = trace.info.emulated;
  out.push_back(endpoint_line("All in the slowest tier", what_if.slow_measured,
                              emulated, "all_slow"));
  out.push_back(endpoint_line("All in the fastest tier", what_if.fast_measured,
                              emulated, "all_fast"));
  out.push_back(line(
      "Times and moves of the policies", "modelled",
      what_if.tensors
          ? "each policy was replayed on one step of the recorded job, tensor "
            "by tensor; times follow from what its operators lose in slow "
            "memory"
          : "each policy was replayed on the recorded accesses, window by "
            "window; times follow from what each object costs in slow "
            "memory"));
  out.push_back(line("Error bars", "modelled", what_if.bars));
  out.push_back(line("What each object would gain", "modelled",
                     "its share of what slow memory costs the job; gains of "
                     "several need not add up"));
  return out;
}

}  // namespace thermocline
