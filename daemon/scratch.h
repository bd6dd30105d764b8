// ScratchDirectory: a directory of our own, 0700, gone with its owner.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace thermocline {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = "/tmp/thermocline-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  /// Empty when it could not be made; using it then fails with its name.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace thermocline
