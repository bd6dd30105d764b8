#include "daemon/evaluate_jobs.h"

#include "agent/trace_worlds.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Named {
  std::string path;
  Trace trace;
  bool taken = false;
};

std::string file_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Status add_step(const Named& one, const Named* slow, const std::string& machine,
                EvaluatedJobs& out) {
  const std::string name =
      slow == nullptr ? one.path : one.path + " and " + slow->path;
  const std::string& text = machine.empty() ? one.trace.info.machine : machine;
  if (text.empty()) {
    return invalid(name +
                   ": does not say its machine; name one with --machine");
  }
  const auto parsed = Machine::from_json(text);
  if (!parsed) return parsed.error().within(name);
  auto step = slow == nullptr
                  ? Iteration::from_trace(one.trace, *parsed)
                  : Iteration::from_pair(one.trace, slow->trace, *parsed);
  if (!step) return step.error().within(name);
  for (const auto& note : step->notes()) {
    out.notes.push_back(file_of(one.path) + ": " + note);
  }
  if (slow == nullptr) {
    out.notes.push_back(file_of(one.path) +
                        ": no counterpart, so what slow memory costs its "
                        "operators is modelled from the machine's bandwidths");
  }
  out.jobs.push_back({file_of(one.path), *std::move(step), std::nullopt});
  return {};
}

Named* counterpart(std::vector<Named>& all, const Named& fast) {
  if (fast.trace.info.placement != "all_fast") return nullptr;
  for (Named& other : all) {
    if (!other.taken && other.trace.info.placement == "all_slow" &&
        other.trace.info.command == fast.trace.info.command) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace

Result<EvaluatedJobs> load_jobs(const std::vector<std::string>& paths,
                                const std::string& machine, bool pages,
                                const FileWatch& watch) {
  EvaluatedJobs out;
  std::vector<Named> steps;
  std::vector<std::string> sampled;
  for (const auto& path : paths) {
    auto read = read_trace(path, watch ? watch(path) : Watch());
    if (!read) return read.error();
    Trace& trace = read->trace;
    if (!pages && !trace.operators.empty() && !trace.tensors.empty()) {
      if (!read->damage.empty()) out.notes.push_back(read->damage);
      steps.push_back({path, std::move(trace), false});
    } else if (!trace.samples.empty()) {
      sampled.push_back(path);
    } else {
      return invalid(path +
                     (pages ? " has no samples"
                            : " has neither operators with tensors nor "
                              "samples") +
                     "; record it with thermocline record");
    }
  }
  for (Named& one : steps) {
    if (one.taken || one.trace.info.placement == "all_slow") continue;
    one.taken = true;
    Named* slow = counterpart(steps, one);
    if (slow != nullptr) slow->taken = true;
    if (auto ok = add_step(one, slow, machine, out); !ok) return ok.error();
  }
  for (Named& one : steps) {  // all_slow, and alone
    if (one.taken) continue;
    if (auto ok = add_step(one, nullptr, machine, out); !ok) return ok.error();
  }
  if (sampled.empty()) return out;
  auto worlds = load_worlds(sampled, {}, machine);
  if (!worlds) return worlds.error();
  for (auto& note : worlds->notes) out.notes.push_back(std::move(note));
  for (World& world : worlds->worlds) {
    const std::string name = world.job;
    out.jobs.push_back({name, std::nullopt, std::move(world)});
  }
  return out;
}

}  // namespace thermocline
