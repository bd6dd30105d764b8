// The parts of an examination, one a topic, and how they look at files.
//
// Thread safety: pure but for reading files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tracer/doctor.h"
#include "tracer/kernel_text.h"

namespace thermocline {

std::vector<Finding> examine_sampling(const Patient& patient);
std::vector<Finding> examine_memory(const Patient& patient);
std::vector<Finding> examine_trackers(const Patient& patient);
std::vector<Finding> examine_software(const Patient& patient);

inline Finding good(std::string name, std::string found) {
  Finding finding;
  finding.name = std::move(name);
  finding.found = std::move(found);
  return finding;
}

inline Finding lacking(Finding::State state, std::string name,
                       std::string found, std::string consequence,
                       std::string remedy) {
  Finding finding = good(std::move(name), std::move(found));
  finding.state = state;
  finding.consequence = std::move(consequence);
  finding.remedy = std::move(remedy);
  return finding;
}

inline bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// The names in a folder, in order; none where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

/// "12.3 GiB"
std::string in_gib(std::uint64_t bytes);

}  // namespace thermocline
