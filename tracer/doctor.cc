#include "tracer/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "tracer/doctor_parts.h"
#include "tracer/page_tracker.h"
#include "tracer/perf_events.h"
#include "tracer/sampler.h"

namespace thermocline {
namespace {

std::string host_of(const Patient& patient) {
  std::size_t cpus = 0;
  std::ifstream in(patient.root + "/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    cpus += line.rfind("processor", 0) == 0;
  }
  const auto release = first_line(patient.root + "/proc/sys/kernel/osrelease");
  const auto model = field_of(patient.root + "/proc/cpuinfo", "model name");
  return "Linux " + (release.empty() ? "(unknown)" : release) + ", " +
         (model.empty() ? "unknown processor" : model) + ", " +
         std::to_string(cpus) + (cpus == 1 ? " CPU" : " CPUs");
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string in_gib(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB",
                static_cast<double>(bytes) / (1 << 30));
  return text;
}

Patient this_machine() {
  Patient patient;
  patient.pmu_model = pmu_model();
  patient.sample_self = [](const std::string& source) -> Status {
    auto sampler = open_sampler(source, getpid());
    if (!sampler) return sampler.error();
    return {};
  };
  patient.tracks_writes = [] { return has_soft_dirty({}); };
  return patient;
}

Result<Examination> examine(const Patient& patient) {
  if (!is_there(patient.root + "/proc/self/status")) {
    return unsupported(patient.root + "/proc is not there to look at; mount " +
                       "it (mount -t proc proc /proc)");
  }
  Examination all;
  all.host = host_of(patient);
  const auto add = [&all](const char* topic, std::vector<Finding> findings) {
    for (auto& finding : findings) {
      finding.topic = topic;
      all.findings.push_back(std::move(finding));
    }
  };
  add("sampling", examine_sampling(patient));
  add("memory", examine_memory(patient));
  add("trackers", examine_trackers(patient));
  add("software", examine_software(patient));
  return all;
}

}  // namespace thermocline
