// The options of `thermocline checkpoint export`: for the program that exports,
// which links LibTorch, and for the completion of shells, which must not.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace thermocline {

struct ExportSettings {
  std::string pool;
  std::string prefix;
  std::string out;
  std::string format = "dict";
  int slot = -1;  // -1: the newest checkpoint's
  bool force = false;
  bool quiet = false;
};

/// Adds them to a command line; `settings` must outlive it.
void add_export_options(CLI::App& app, ExportSettings& settings);

}  // namespace thermocline
