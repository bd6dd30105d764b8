#include "agent/trace_worlds.h"

#include <cstdio>

#include "estimator/machine.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Named {
  std::string path;
  Trace trace;
};

std::string command_of(const Trace& trace) {
  std::string out;
  for (const auto& word : trace.info.command) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

// How sure it is that two traces are of one job on one machine: 2, 0, or 1: of
// that name, and described otherwise, which the pair is then refused for.
int likeness(const Trace& a, const Trace& b) {
  if (a.info.command != b.info.command) return 0;
  if (a.info.machine == b.info.machine) return 2;
  const auto first = Machine::from_json(a.info.machine);
  const auto second = Machine::from_json(b.info.machine);
  return first && second && first->name == second->name ? 1 : 0;
}

Result<std::vector<Named>> read_all(const std::vector<std::string>& paths,
                                    std::vector<std::string>& notes) {
  std::vector<Named> out;
  for (const auto& path : paths) {
    auto read = read_trace(path);
    if (!read) return read.error();
    if (!read->damage.empty()) notes.push_back(read->damage);
    if (read->trace.samples.empty()) {
      return invalid(path +
                     " has no samples; record it with a source of samples "
                     "(thermocline record --help)");
    }
    out.push_back({path, std::move(read->trace)});
  }
  return out;
}

Status add_pair(const Named& slow, const Named& fast,
                Differential::Options options, TraceWorlds& out) {
  const std::string which = slow.path + " and " + fast.path;
  auto made = Differential::from_pair(slow.trace, fast.trace, options);
  if (!made && options.phases) {
    // A coarser world is still one to learn in.
    const std::string why = made.error().message;
    options.phases = false;
    made = Differential::from_pair(slow.trace, fast.trace, options);
    if (made) out.notes.push_back(which + ": taken as one phase, for " + why);
  }
  if (!made) return made.error().within(which);
  if (made->slow_ns() <= made->fast_ns()) {
    char times[96];
    std::snprintf(times, sizeof times, "%.3g s all fast, %.3g s all slow",
                  made->fast_ns() * 1e-9, made->slow_ns() * 1e-9);
    out.notes.push_back(which + ": the job took " + times +
                        ", so there is nothing to gain in it; are the two "
                        "mixed up, or was the machine busy?");
  }
  out.worlds.push_back(World::from(*made));
  return {};
}

Status add_one(const Named& one, Differential::Options options,
               TraceWorlds& out) {
  auto made = Differential::from_one(one.trace, options);
  if (!made) return made.error().within(one.path);
  const bool slow = one.trace.info.placement == "all_slow";
  out.notes.push_back(one.path + ": no counterpart, so its all_" +
                      (slow ? "fast" : "slow") +
                      " time is modelled from the machine, not measured");
  out.worlds.push_back(World::from(*made));
  return {};
}

}  // namespace

Result<TraceWorlds> load_worlds(const std::vector<std::string>& paths,
                                Differential::Options options,
                                const std::string& machine) {
  options.overlap = false;  // a world knows objects' own gains alone
  options.even_out = EvenOut::kSampled;
  TraceWorlds out;
  if (paths.empty()) {
    return invalid("no traces; record one with thermocline record");
  }
  auto all = read_all(paths, out.notes);
  if (!all) return all.error();
  for (Named& one : *all) {
    if (!machine.empty()) one.trace.info.machine = machine;
  }
  std::vector<const Named*> single;
  std::vector<bool> taken(all->size(), false);
  // A fleet runs one job on many machines: each slow run goes with the fast
  // one of its own.
  for (const int least : {2, 1}) {
    for (std::size_t i = 0; i < all->size(); ++i) {
      const Named& slow = (*all)[i];
      if (taken[i] || slow.trace.info.placement != "all_slow") continue;
      for (std::size_t k = 0; k < all->size(); ++k) {
        const Named& fast = (*all)[k];
        if (taken[k] || fast.trace.info.placement != "all_fast" ||
            likeness(slow.trace, fast.trace) < least) {
          continue;
        }
        taken[i] = taken[k] = true;
        if (auto ok = add_pair(slow, fast, options, out); !ok) {
          return ok.error();
        }
        break;
      }
    }
  }
  const Named* lone_slow = nullptr;
  const Named* lone_fast = nullptr;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (taken[i]) continue;
    const Named& one = (*all)[i];
    single.push_back(&one);
    if (one.trace.info.placement == "all_slow") lone_slow = &one;
    if (one.trace.info.placement == "all_fast") lone_fast = &one;
  }
  if (lone_slow != nullptr && lone_fast != nullptr &&
      lone_slow->trace.info.command != lone_fast->trace.info.command) {
    return invalid(lone_slow->path + " (all_slow) and " + lone_fast->path +
                   " (all_fast) are of different commands, \"" +
                   command_of(lone_slow->trace) + "\" and \"" +
                   command_of(lone_fast->trace) +
                   "\"; give two traces of one job, or one alone");
  }
  for (const Named* one : single) {
    if (auto ok = add_one(*one, options, out); !ok) return ok.error();
  }
  return out;
}

}  // namespace thermocline
