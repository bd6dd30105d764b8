#include "daemon/locked_memory.h"

#include <charconv>
#include <sstream>

#include "daemon/process.h"

namespace thermocline {
namespace {

bool locks_something(Kernel& kernel, const std::string& directory) {
  const auto text = kernel.read_file(directory + "/status");
  if (!text) return false;
  return status_word(*text, "VmLck", 1).value_or(0) > 0;
}

}  // namespace

std::vector<Address> locked_areas(Kernel& kernel, int pid) {
  std::vector<Address> out;
  const std::string directory = "proc/" + std::to_string(pid);
  if (!locks_something(kernel, directory)) return out;
  const auto text = kernel.read_file(directory + "/smaps");
  if (!text) return out;
  // "7f00a000-7f00c000 rw-p ...", then lines "Key: ...", among them
  // "VmFlags: rd wr mr mw me lo ac".
  Address start = 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto dash = line.find('-');
    const auto space = line.find(' ');
    if (line.rfind("VmFlags:", 0) == 0) {
      if ((line + " ").find(" lo ") != std::string::npos) out.push_back(start);
    } else if (dash < space) {
      std::from_chars(line.data(), line.data() + dash, start, 16);
    }
  }
  return out;
}

}  // namespace thermocline
