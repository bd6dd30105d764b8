#include "daemon/export_options.h"

#include <CLI/CLI.hpp>

namespace thermocline {

void add_export_options(CLI::App& app, ExportSettings& s) {
  app.add_option("pool", s.pool, "pool of checkpoints")
      ->type_name("POOL")
      ->required();
  app.add_option("-o,--output", s.out, "file to write")
      ->type_name("FILE")
      ->required();
  app.add_flag("--force", s.force, "replace an existing file");
  app.add_option("--prefix", s.prefix,
                 "only names that begin so; it is cut off (\"model.\")");
  app.add_option("--format", s.format,
                 "dict: torch.load() in Python gives a dict of tensors, "
                 "torch::pickle_load() in C++ likewise; module: torch::load() "
                 "in C++ into a torch::nn::Module (give its --prefix)")
      ->check(CLI::IsMember({"dict", "module"}))
      ->capture_default_str();
  app.add_option("--slot", s.slot, "not the newest, but that of this slot")
      ->check(CLI::Range(0, 63));
  app.add_flag("-q,--quiet", s.quiet, "no progress");
}

}  // namespace thermocline
