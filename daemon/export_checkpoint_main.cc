// thermocline-export-checkpoint: one checkpoint of a pool as a file of
// tensors; `thermocline checkpoint export` runs it.
//
// A program of its own, for it links LibTorch and the command line does not.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "daemon/export_options.h"
#include "daemon/units.h"
#include "daemon/work.h"
#include "training/torch_export.h"

namespace thermocline {
namespace {

Status run(ExportSettings& s) {
  Work work(s.quiet);
  work.say("checking " + s.pool);
  auto pool = CheckpointPool::open_to_read(s.pool);
  if (!pool) return pool.error();
  const auto from =
      s.slot < 0 ? pool->restore()
                 : pool->restore_slot(static_cast<std::uint32_t>(s.slot));
  if (!from) return from.error().within(s.pool);
  if (stop_asked()) return stopped(s.out + " was not written");
  if (const auto damage = from->passed_over(); !damage.empty()) {
    work.clear();
    std::fprintf(stderr, "note: %s\n", damage.c_str());
  }
  ExportOptions options;
  options.prefix = s.prefix;
  options.format =
      s.format == "module" ? ExportFormat::kModule : ExportFormat::kDict;
  options.existing = keep_unless(s.force);
  options.watch = [&](Bytes done, Bytes all) {
    return work.show(
        static_cast<double>(done) / static_cast<double>(all),
        "writing " + s.out + ", " + show_bytes(static_cast<double>(done)));
  };
  const auto count = export_tensors(*from, s.out, options);
  work.clear();
  if (!count && stop_asked()) return count.error();
  if (!count) return count.error().within(s.pool);
  std::printf("wrote %s: checkpoint %ju, step %ju, %zu tensors\n",
              s.out.c_str(), from->sequence, from->step, *count);
  return {};
}

int main_of(int argc, char** argv) {
  ExportSettings s;
  CLI::App app{
      "Writes one checkpoint of a pool as a file that LibTorch and Python "
      "load. What is no tensor becomes one of bytes.",
      "thermocline checkpoint export"};
  add_export_options(app, s);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "thermocline checkpoint export: %s; see --help\n",
                 error.what());
    return 2;
  }
  const auto done = run(s);
  if (done) return 0;
  std::fprintf(stderr, "thermocline checkpoint export: %s\n",
               done.error().message.c_str());
  return status_of(done.error());
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  try {
    return thermocline::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermocline checkpoint export: %s\n", error.what());
    return 1;
  }
}
