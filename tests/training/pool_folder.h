// PoolFolder: a folder for a test's pools, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "traces/result.h"

namespace thermocline {

class PoolFolder {
 public:
  explicit PoolFolder(const std::string& where = "/tmp") {
    std::string pattern = where + "/thermocline-pool-XXXXXX";
    CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  PoolFolder(const PoolFolder&) = delete;
  PoolFolder& operator=(const PoolFolder&) = delete;
  ~PoolFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

}  // namespace thermocline
