// thermocline estimate: how long would the job take, if its data lay
// elsewhere?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/commands.h"
#include "daemon/estimate_report.h"
#include "daemon/placement_file.h"
#include "daemon/policy_maker.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "estimator/chosen_elsewhere.h"

namespace thermocline {
namespace {

struct Arguments {
  EstimateFiles files;
  std::string placement;
  std::string policy;
  std::string options;
  std::string agent;
  std::string sweep;
  std::size_t objects = 10;
  bool json = false;
  bool quiet = false;
};

struct Range {
  int from = 0;
  int to = 100;
};

// "fast=0..100%"
Result<Range> parse_sweep(const std::string& text) {
  const auto wrong = invalid("--sweep " + text +
                             ": is not of the form fast=FROM..TO% (0 to 100)");
  Range range;
  const std::string prefix = "fast=";
  if (text.rfind(prefix, 0) != 0 || text.back() != '%') return wrong;
  const char* at = text.data() + prefix.size();
  const char* end = text.data() + text.size() - 1;
  auto got = std::from_chars(at, end, range.from);
  if (got.ec != std::errc() || end - got.ptr < 3 || got.ptr[0] != '.' ||
      got.ptr[1] != '.') {
    return wrong;
  }
  got = std::from_chars(got.ptr + 2, end, range.to);
  if (got.ec != std::errc() || got.ptr != end || range.from < 0 ||
      range.to > 100 || range.from > range.to) {
    return wrong;
  }
  return range;
}

std::vector<StaticPlacement> sweep(const Differential& made,
                                   const JobMemory& memory, Range range) {
  std::vector<StaticPlacement> out;
  for (int percent = range.from;; percent += 10) {
    percent = std::min(percent, range.to);
    out.push_back(hottest(made, memory, percent / 100.0));
    out.back().name = std::to_string(percent) + " %";
    if (percent == range.to) return out;
  }
}

Result<std::vector<StaticPlacement>> by_policy(const Arguments& given,
                                               const Differential& made,
                                               const JobMemory& memory) {
  std::string options = given.options;
  if (!given.agent.empty()) {
    auto json = nlohmann::json::parse(options.empty() ? "{}" : options, nullptr,
                                      /*allow_exceptions=*/false);
    if (!json.is_object())
      return invalid("--options " + given.options +
                     " is no JSON object; as in '{\"NAME\": VALUE}'");
    json["agent"] = given.agent;
    options = json.dump();
  }
  const auto policy = make_policy(given.policy, options);
  if (!policy) return policy.error();
  auto placement = settled(made, memory, **policy);
  if (!placement) return placement.error();
  if (auto ok = check_fits(made.machine(), *placement); !ok) return ok.error();
  placement->name = given.policy;
  return std::vector{*std::move(placement)};
}

Result<std::vector<StaticPlacement>> placements(const Arguments& given,
                                                const EstimateInput& input,
                                                const JobMemory& memory) {
  const Differential& made = input.differential;
  if (!given.placement.empty()) {
    return read_placements(given.placement, made, memory, input.either());
  }
  if (!given.policy.empty()) return by_policy(given, made, memory);
  const auto range = parse_sweep(given.sweep);
  if (!range) return range.error();
  return sweep(made, memory, *range);
}

std::string title(const Arguments& given) {
  if (!given.placement.empty()) return "placement " + given.placement;
  if (!given.policy.empty()) {
    return "policy " + given.policy + ", where it comes to rest";
  }
  return "sweep " + given.sweep + ", the pages that gain most per byte first";
}

// Of so few samples (a standard error of more than 20 %) the hottest pages are
// partly those that were lucky; what they gain by luck is evened out
// (smoothing.h), but better ones were missed.
constexpr std::size_t kFewSamples = 25;

void doubt_heat(const JobMemory& memory, EstimateInput& input) {
  const std::size_t samples = (input.slow ? input.slow->samples.size() : 0) +
                              (input.fast ? input.fast->samples.size() : 0);
  const std::size_t regions = memory.order.size();
  if (samples >= kFewSamples * regions) return;
  char text[160];
  std::snprintf(
      text, sizeof text,
      "%.1f samples a region of %s: which are the hottest is partly "
      "chance, so a longer recording would choose others, and gain more",
      static_cast<double>(samples) / static_cast<double>(regions),
      show_bytes(static_cast<double>(input.options.region_bytes)).c_str());
  input.notes.emplace_back(text);
}

// By placement of a file: whether other samples than these chose it.
std::vector<bool> from_elsewhere(const std::vector<StaticPlacement>& placements,
                                 EstimateInput& input) {
  std::vector<bool> out(placements.size(), false);
  if (!input.slow || !input.fast) return out;  // modelled: nothing to compare
  const Trace* runs[] = {&*input.slow, &*input.fast};
  const Differential& made = input.differential;
  const ChosenElsewhere elsewhere(runs, made.objects());
  std::size_t count = 0;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    std::vector<double> slowness;
    for (const TierId tier : placements[i].tiers) {
      slowness.push_back(made.slowness(tier));
    }
    out[i] = elsewhere(slowness);
    count += out[i] ? 1 : 0;
  }
  if (count == 0) return out;
  const std::string which =
      placements.size() == 1
          ? "this placement follows"
          : std::to_string(count) + " of " + std::to_string(placements.size()) +
                (count == 1 ? " placements follows" : " placements follow");
  input.notes.push_back(which +
                        " what is hot, but not these samples: chosen "
                        "elsewhere, so that their counts are taken at their "
                        "word, and no luck is evened out");
  return out;
}

Status check(Arguments& given) {
  if (given.files.slow.empty() && given.files.fast.empty()) {
    return invalid(
        "needs --slow, --fast, or both; see thermocline estimate "
        "--help");
  }
  const int asked = int{!given.placement.empty()} + int{!given.sweep.empty()} +
                    int{!given.policy.empty() || !given.agent.empty()};
  if (asked != 1) {
    return invalid(
        "needs one of --placement, --policy and --sweep; see thermocline "
        "estimate --help");
  }
  if (!given.agent.empty()) {
    if (given.policy.empty()) given.policy = "learned";
    if (given.policy != "learned") {
      return invalid("--agent is for policy learned, not " + given.policy +
                     "; leave one of them out");
    }
  }
  // What can be told before traces are read.
  if (!given.policy.empty() && given.agent.empty()) {
    const auto policy = make_policy(given.policy, given.options);
    if (!policy) return policy.error();
  }
  if (!given.sweep.empty()) {
    if (const auto range = parse_sweep(given.sweep); !range) {
      return range.error();
    }
  }
  return {};
}

void run(Arguments& given, Outcome& outcome) {
  if (auto ok = check(given); !ok) return outcome.fail(ok.error(), 2);
  std::optional<Work> work(std::in_place, given.quiet, OnStop::kLeave);
  auto input = EstimateInput::load(
      given.files,
      [&work](const std::string& file) { return work->reading(file); });
  if (!input) return outcome.fail(input.error());
  const Differential& made = input->differential;
  const auto memory = JobMemory::of(made, input->either());
  auto chosen = placements(given, *input, memory);
  if (!chosen) return outcome.fail(chosen.error());

  if (given.placement.empty()) doubt_heat(memory, *input);
  const bool detailed = chosen->size() == 1;
  const Trace* slow = input->slow ? &*input->slow : nullptr;
  const Trace* fast = input->fast ? &*input->fast : nullptr;
  const JobObjects objects(made, slow, fast);
  std::vector<bool> elsewhere(chosen->size(), false);
  if (!given.placement.empty()) elsewhere = from_elsewhere(*chosen, *input);
  std::optional<Differential> plain;  // for those that are
  if (std::find(elsewhere.begin(), elsewhere.end(), true) != elsewhere.end()) {
    auto at_their_word = input->at_their_word();
    if (!at_their_word) return outcome.fail(at_their_word.error());
    plain = *std::move(at_their_word);
  }
  EstimateReport report{*input,  given.files,     memory,
                        objects, phases_of(made), title(given),
                        {},      detailed,        given.objects};
  for (StaticPlacement& placement : *chosen) {
    work->show(static_cast<double>(report.rows.size()) /
                   static_cast<double>(chosen->size()),
               "estimating " + placement.name);
    EstimateRow row;
    row.at_their_word = elsewhere[report.rows.size()];
    const Differential& by = row.at_their_word ? *plain : made;
    row.breakdown = detailed
                        ? break_down(by, placement.schedule(), report.phases,
                                     objects, slow != nullptr, fast != nullptr)
                        : totals(by, placement.schedule(), slow != nullptr,
                                 fast != nullptr);
    row.doubt = placement.note;
    if (auto fits = check_fits(made.machine(), placement); !fits) {
      row.doubt = fits.error().message;
    }
    row.placement = std::move(placement);
    report.rows.push_back(std::move(row));
  }
  work.reset();
  if (given.json) {
    std::printf("%s\n",
                to_json(report)
                    .dump(2, ' ', false,
                          nlohmann::ordered_json::error_handler_t::replace)
                    .c_str());
  } else {
    print_text(report, stdout);
  }
  std::fflush(stdout);
}

}  // namespace

void add_estimate(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "estimate",
      "Say how long a recorded job would take if its data lay elsewhere: in "
      "all, by phase, by object, and how much of that is modelled. From two "
      "traces, recorded with --placement all_slow and all_fast; of one alone, "
      "the other endpoint is modelled from the machine.");
  command->add_option("--slow", given->files.slow,
                      "trace with all in the "
                      "slowest tier");
  command->add_option("--fast", given->files.fast,
                      "trace with all in the "
                      "fastest tier");
  command
      ->add_option("--tier", given->files.tiers,
                   "TIER=FILE: trace with all in a tier between (numactl "
                   "--membind), beside both others; may be given again. A "
                   "tier without one lies between its neighbours by latency")
      ->take_all();
  command->add_option("--machine", given->files.machine,
                      "machine description (JSON); default: the traces' own");
  command
      ->add_option(
          "--placement", given->placement,
          "JSON file: {\"rest\": TIER, \"ranges\": [[START, END, TIER]], "
          "\"objects\": {NAME: TIER}}, or a list of such. NAME is "
          "tensor:SERIAL, a tensor's label, a mapping's name, or "
          "0xSTART-0xEND, as this command prints them; all else goes to "
          "\"rest\", by default the slowest tier. \"moves\": "
          "[{\"window\": N or \"at_s\": SECONDS, \"objects\": ...}] moves "
          "objects while the job runs")
      ->type_name("FILE");
  command->add_option(
      "--policy", given->policy,
      "a policy of `thermocline list`: pages are born as it says (first "
      "touch, or bound to a tier) within the machine's capacities, then it "
      "decides on the job's mean accesses, without a budget, until it moves "
      "no more; the estimate is of the whole job with its data there");
  command->add_option("--options", given->options,
                      "options of the policy, as JSON");
  command->add_option("--agent", given->agent,
                      "agent trained by `thermocline train` (policy learned)");
  command->add_option(
      "--sweep", given->sweep,
      "fast=0..100%: that share of the job's memory in the fastest tier, in "
      "steps of 10 %, the pages that gain most per byte first");
  command
      ->add_option("--windows", given->files.windows,
                   "pieces into which the runs are cut, by work done")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--phases", given->files.phases,
                   "auto: the job's phases are matched first, by its marks, or "
                   "without marks by where its sample rate changes; none: the "
                   "job is taken as one phase")
      ->check(CLI::IsMember({"auto", "none"}))
      ->capture_default_str();
  command->add_option("--objects", given->objects, "objects to show; 0: all")
      ->capture_default_str();
  command->add_flag("--json", given->json, "as JSON, times in nanoseconds");
  command->add_flag("-q,--quiet", given->quiet, "no progress");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
