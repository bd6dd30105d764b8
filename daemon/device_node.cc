#include "daemon/device_node.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

namespace thermocline {

namespace fs = std::filesystem;

std::optional<int> device_node(const std::string& root, DeviceKind kind,
                               unsigned major, unsigned minor) {
  std::error_code gone;
  const fs::path top = fs::canonical(fs::path(root) / "sys", gone);
  if (gone) return std::nullopt;
  fs::path at = fs::canonical(
      top / "dev" / (kind == DeviceKind::kBlock ? "block" : "char") /
          (std::to_string(major) + ":" + std::to_string(minor)),
      gone);
  if (gone) return std::nullopt;
  for (; at != top && at.has_relative_path(); at = at.parent_path()) {
    std::ifstream in(at / "numa_node");
    // -1: of none, which what it hangs on may know better.
    if (int node = -1; in >> node && node >= 0) return node;
  }
  return std::nullopt;
}

std::optional<int> node_of_path(const std::string& root,
                                const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  if (S_ISCHR(found.st_mode)) {
    return device_node(root, DeviceKind::kCharacter, major(found.st_rdev),
                       minor(found.st_rdev));
  }
  return device_node(root, DeviceKind::kBlock, major(found.st_dev),
                     minor(found.st_dev));
}

}  // namespace thermocline
