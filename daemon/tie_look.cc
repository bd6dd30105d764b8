#include "daemon/tie_look.h"

#include "daemon/locked_memory.h"
#include "tracer/maps.h"

namespace thermocline {

const char* tie_text(Tie tie) {
  switch (tie) {
    case Tie::kNone: return "";
    case Tie::kBound: return "the job bound this memory to its nodes";
    case Tie::kLocked: return "the job locked this memory";
    case Tie::kReserved: return "it is of huge pages that were reserved";
    case Tie::kNew:
      return "whether the job bound or locked this memory has not been looked "
             "at yet";
    case Tie::kUnreadable: return "what the job tied down cannot be told";
  }
  return "";
}

TieLook look_at_ties(Kernel& kernel, const std::string& directory,
                     TieLook::Of of) {
  const Nanos began = kernel.now();
  TieLook out;
  const auto tie = [&](const auto& starts, Tie how) {
    for (const Address start : starts) out.tied.emplace(start, how);
  };
  const auto fails = [&](const Error& error, const char* setting) {
    out.trouble =
        "which memory its job tied down cannot be told, so nothing of " +
        directory + " is moved: " + error.message + "; with \"" + setting +
        "\": true it is not asked";
  };
  const auto text = kernel.read_file(directory + "/numa_maps");
  if (text) {
    const auto maps = parse_numa_maps(*text);
    tie(maps.hugetlb, Tie::kReserved);
    if (of.bound) tie(maps.bound, Tie::kBound);
  } else if (text.error().code != Error::Code::kNotFound && of.bound) {
    fails(text.error(), "move_bound");
  }
  if (of.locked) {
    const auto locked = locked_areas(kernel, directory);
    if (!locked) fails(locked.error(), "move_locked");
    if (locked) tie(*locked, Tie::kLocked);
  }
  out.took = kernel.now() - began;
  return out;
}

}  // namespace thermocline
