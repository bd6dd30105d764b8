#include "daemon/evaluate_arguments.h"

#include <CLI/CLI.hpp>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/policy_maker.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

std::optional<double> share_of(const std::string& text) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto got = std::from_chars(text.data(), end, out);
  if (got.ec != std::errc() || got.ptr != end || !(out >= 0 && out <= 1)) {
    return std::nullopt;
  }
  return out;
}

// "0.2", "0.1,0.2", "0.1..0.9" (in steps of 0.1, and the last)
Result<std::vector<double>> parse_shares(const std::string& text) {
  const Error wrong =
      invalid("--fast-share " + text +
              ": is not of the form SHARE, SHARE,SHARE or FROM..TO, with "
              "shares from 0 to 1");
  std::vector<double> out;
  for (const std::string& word : split(text)) {
    const auto dots = word.find("..");
    const auto from = share_of(word.substr(0, dots));
    const auto to =
        dots == std::string::npos ? from : share_of(word.substr(dots + 2));
    if (!from || !to || *to < *from) return wrong;
    // Both ends belong to it.
    for (int i = 0; *from + 0.1 * i < *to - 1e-9; ++i) {
      out.push_back(std::round((*from + 0.1 * i) * 1e6) / 1e6);
    }
    out.push_back(*to);
  }
  if (out.empty()) return wrong;
  return out;
}

}  // namespace

void EvaluateArguments::add_to(CLI::App& command) {
  command
      .add_option("traces", traces,
                  "traces; an all_slow and an all_fast one of a command make "
                  "one job")
      ->required();
  command
      .add_option("--policies", policies,
                  "names of `thermocline list`, with commas between, or all")
      ->capture_default_str();
  command
      .add_option(
          "--fast-share", shares,
          "size of the fastest tier as a share of the job's peak: "
          "0.2, or 0.1,0.5, or 0.1..0.9 in steps of 0.1; tiers between the "
          "fastest and the slowest are as large")
      ->capture_default_str();
  command.add_option("--machine", machine,
                     "machine description (JSON); default: the traces' own");
  command
      .add_option("--steps", table.steps,
                  "steps to replay; times are the mean of the last half")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      .add_option("--repeat", repeat,
                  "for traces with samples: as if the job had gone on in the "
                  "same way for so many times as long, the same samples again "
                  "and again. Real jobs are longer than what is recorded of "
                  "them, and have more time for moves to pay")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  command
      .add_option("--alignment", table.alignment,
                  "bytes to which tensors are rounded up: 4096 for pages of "
                  "their own")
      ->check(CLI::Range(1, 1 << 30))
      ->check([](const std::string& text) {
        Bytes bytes = 0;
        std::from_chars(text.data(), text.data() + text.size(), bytes);
        return std::has_single_bit(bytes)
                   ? std::string()
                   : text + " is no power of two, as alignments are";
      })
      ->capture_default_str();
  command
      .add_option("--budget", budget,
                  "MiB/s that moves may use; 0: as fast as the tiers are")
      ->check(CLI::Range(0.0, 1e9));
  command.add_option("--options", options,
                     "options by policy, as JSON: {\"POLICY\": {...}}");
  command.add_option("--agent", agent,
                     "agent of the policy learned; default: the one that "
                     "ships");
  command.add_flag("--pages", pages,
                   "go by samples also where there are tensors");
  command.add_flag("-q,--quiet", quiet, "no progress");
}

Status EvaluateArguments::read_options(
    std::map<std::string, std::string>& by_policy) const {
  const Json all = Json::parse(options.empty() ? "{}" : options, nullptr,
                               /*allow_exceptions=*/false);
  if (!all.is_object()) {
    return invalid(
        "--options " + options +
        " is no JSON object of the form '{\"POLICY\": {\"NAME\": VALUE}}'");
  }
  for (const auto& [name, value] : all.items()) by_policy[name] = value.dump();
  if (agent.empty()) return {};
  Json learned = all.value("learned", Json::object());
  if (learned.is_object()) learned["agent"] = agent;
  by_policy["learned"] = learned.dump();
  return {};
}

Status EvaluateArguments::read(std::vector<std::string>& notes) {
  auto parsed = parse_shares(shares);
  if (!parsed) return parsed.error();
  table.shares = *std::move(parsed);
  table.copy_bytes_per_s = budget * (1 << 20);
  std::map<std::string, std::string> by_policy;
  if (auto ok = read_options(by_policy); !ok) return ok;
  const auto add = [&](const std::string& name) {
    const auto at = by_policy.find(name);
    table.policies.push_back(
        {name, at == by_policy.end() ? "" : at->second, ""});
  };
  for (const std::string& name : split(policies)) {
    if (name != "all") {
      add(name);
      continue;
    }
    const bool learned_before = Registry<Policy>::entries().contains("learned");
    for (const auto& [known, unused] : Registry<Policy>::entries()) {
      // This needs a program that decides.
      if (known == "external" && !by_policy.contains(known)) {
        notes.push_back(
            "external is left out; it takes part with "
            R"(--options '{"external": {"endpoint": "ipc:///..."}}')");
      } else {
        add(known);
      }
    }
    // Its plugin registers it only when it is loaded; without one it is left
    // out, unless it was asked for.
    if (!learned_before) {
      const auto made = make_policy("learned", "{}");
      if (made || by_policy.contains("learned")) {
        add("learned");
      } else {
        notes.push_back("learned is left out: " + made.error().message);
      }
    }
  }
  if (table.policies.empty())
    return invalid("--policies names none; thermocline list has them");
  for (const Contestant& one : table.policies) {
    const auto made = make_policy(one.policy, one.options);
    if (!made) return made.error();
    by_policy.erase(one.policy);
  }
  if (by_policy.empty()) return {};
  return invalid("options are given for \"" + by_policy.begin()->first +
                 "\", which is not among the policies");
}

Result<EvaluatedJobs> EvaluateArguments::load(Work& work) const {
  std::string text;
  if (!machine.empty()) {
    const auto loaded = Machine::load(machine);
    if (!loaded) return loaded.error();
    text = loaded->to_json();
  }
  auto out = load_jobs(traces, text, pages, [&work](const std::string& file) {
    return work.reading(file);
  });
  if (!out || repeat == 1) return out;
  const std::string times = std::to_string(repeat);
  for (EvaluatedJob& job : out->jobs) {
    if (!job.world) {
      out->notes.push_back(job.name + ": --repeat " + times +
                           " changes nothing, for tensors are replayed step "
                           "by step (--steps)");
      continue;
    }
    out->notes.push_back(job.name + ": as if it had gone on " + times +
                         " times as long, with the same samples");
    job.world = job.world->repeated(repeat);
  }
  return out;
}

}  // namespace thermocline
