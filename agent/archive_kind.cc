#include "agent/archive_kind.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace thermocline {
namespace {

constexpr std::streamoff kLongestComment = 80;
constexpr std::string_view kZip = "PK\3\4";

}  // namespace

std::string archive_kind(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  if (size <= 0) return {};
  std::string end(static_cast<std::size_t>(std::min(size, kLongestComment)), 0);
  file.seekg(size - static_cast<std::streamoff>(end.size()));
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  for (const std::string kind : {kAgentKind, kCheckpointKind}) {
    if (end.find("thermocline " + kind + " ") != std::string::npos) return kind;
  }
  std::string begin(kZip.size(), 0);
  file.seekg(0);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kZip ? kNoneOfOurs : "";
}

}  // namespace thermocline
