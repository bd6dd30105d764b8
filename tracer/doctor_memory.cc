// Which memory is there, is it in tiers, and who else moves pages?
#include "estimator/machine.h"
#include "tracer/doctor_parts.h"

namespace thermocline {
namespace {

using State = Finding::State;

std::string list_of(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) {
    list += (list.empty() ? "" : ",") + std::to_string(number);
  }
  return list;
}

std::vector<Finding> tiers(const Patient& patient) {
  const auto machine =
      Machine::from_kernel(patient.root.empty() ? "/" : patient.root);
  if (!machine) {
    return {lacking(State::kMissing, "tiers", machine.error().message,
                    "nothing can be placed",
                    "use a kernel with CONFIG_NUMA, or --machine FILE")};
  }
  std::string text;
  bool figures = true;
  for (const auto& tier : machine->tiers) {
    text += (text.empty() ? "" : ", ") + tier.name + " " +
            in_gib(tier.capacity) + " (node " + list_of(tier.nodes) + ")";
    figures = figures && tier.read_ns > 0 && tier.read_bytes_per_s > 0;
  }
  if (machine->tiers.size() == 1) {
    return {lacking(State::kPart, "tiers", "one: " + text,
                    "nothing to move: the daemon decides and explains only",
                    "bring slower memory up as a node of its own (CXL, "
                    "persistent memory: daxctl reconfigure-device "
                    "--mode=system-ram), or try ./bootstrap demo")};
  }
  std::vector<Finding> found{good("tiers", text)};
  if (figures) {
    found.push_back(good("latencies", "the firmware tells them (HMAT)"));
  } else {
    found.push_back(lacking(
        State::kPart, "latencies", "the firmware does not tell them (HMAT)",
        "estimates cannot weigh one tier against another",
        "thermocline probe -o machine.json measures them; then "
        "give --machine machine.json"));
  }
  return found;
}

Finding balancing(const Patient& patient) {
  const auto setting =
      first_line(patient.root + "/proc/sys/kernel/numa_balancing");
  if (setting.empty()) return good("NUMA balancing", "not in this kernel");
  if (setting == "0") return good("NUMA balancing", "off");
  return lacking(State::kPart, "NUMA balancing",
                 "on (kernel.numa_balancing is " + setting + ")",
                 "the kernel moves pages too, so thermoclined moves none",
                 "sysctl kernel.numa_balancing=0");
}

Finding demotion(const Patient& patient) {
  const auto setting =
      first_line(patient.root + "/sys/kernel/mm/numa/demotion_enabled");
  if (setting.empty()) return good("demotion", "not in this kernel");
  const bool on = setting == "1" || setting == "true";
  return good("demotion",
              on ? "on: under pressure the kernel demotes pages, too"
                 : "off: only thermoclined demotes");
}

// Device memory that is not the kernel's yet, and persistent memory.
Finding persistent(const Patient& patient) {
  const std::filesystem::path devices = patient.root + "/sys/bus/dax/devices";
  std::string idle, have;
  for (const auto& name : names_in(devices)) {
    std::error_code none;
    const auto driver =
        std::filesystem::read_symlink(devices / name / "driver", none);
    auto& list = driver.filename() == "kmem" ? have : idle;
    list += (list.empty() ? "" : ", ") + name;
    const auto bytes =
        std::strtoull(first_line(devices / name / "size").c_str(), nullptr, 10);
    if (bytes > 0) list += " (" + in_gib(bytes) + ")";
  }
  if (!idle.empty()) {
    return lacking(State::kPart, "device memory", idle + " is no node yet",
                   "it cannot be a tier",
                   "daxctl reconfigure-device --mode=system-ram " +
                       idle.substr(0, idle.find_first_of(" ,")));
  }
  for (const auto& name : names_in(patient.root + "/sys/bus/nd/devices")) {
    const bool space = name.rfind("namespace", 0) == 0;
    const bool usable = first_line(patient.root + "/sys/bus/nd/devices/" +
                                   name + "/size") != "0";
    if (space && usable) have += (have.empty() ? "" : ", ") + name;
  }
  if (!have.empty()) return good("device memory", have);
  return lacking(State::kMissing, "device memory",
                 "no persistent memory, no CXL or other DAX device",
                 "the daemon keeps its state in an ordinary file",
                 "nothing, unless the machine has some: see ndctl list -R "
                 "and daxctl list");
}

}  // namespace

std::vector<Finding> examine_memory(const Patient& patient) {
  auto found = tiers(patient);
  found.push_back(balancing(patient));
  found.push_back(demotion(patient));
  found.push_back(persistent(patient));
  return found;
}

}  // namespace thermocline
