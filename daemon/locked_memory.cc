#include "daemon/locked_memory.h"

#include <charconv>
#include <sstream>

#include "daemon/process.h"

namespace thermocline {

std::uint64_t locked_kib(Kernel& kernel, const std::string& directory) {
  const auto text = kernel.read_file(directory + "/status");
  return text ? status_word(*text, "VmLck", 1).value_or(0) : 0;
}

Result<std::vector<Address>> locked_areas(Kernel& kernel,
                                          const std::string& directory) {
  const auto text = kernel.read_file(directory + "/smaps");
  if (!text) return text.error();
  // "7f00a000-7f00c000 rw-p ...", then lines "Key: ...", among them
  // "VmFlags: rd wr mr mw me lo ac".
  std::vector<Address> out;
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
