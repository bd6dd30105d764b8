// larger_example: three jobs whose data need not fit DRAM, with rows in memory
// or in files of a folder: the same bits either way. Files go with the program,
// also when it is interrupted.
//
//   posterior    SWAG of a network's parameters: a column for each update
//   regression   SGD over a data set that is gathered a batch at a time
//   surface      GMRA of points near a surface, at every scale
//
// tests/machine/larger_than_memory runs the first two on a machine that has
// less memory than they have data.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "traces/crc32c.h"
#include "traces/libtorch.h"
#include "training/data_order.h"
#include "training/gmra.h"
#include "training/swag.h"

namespace thermocline {
namespace {

constexpr std::int64_t kRowsAtOnce = 4096;

struct Settings {
  std::string store;  // a folder; "": in memory
  std::int64_t mib = 64;
  std::int64_t steps = 100;
};

[[noreturn]] void end_for(const Error& why) {
  std::fprintf(stderr, "larger_example: %s\n", why.message.c_str());
  std::exit(1);
}

// Files of rows, which go with the program however it ends. A signal may come
// at any instant: a name is there before it counts.
std::array<std::string, 2> g_files;
std::atomic<std::size_t> g_count = 0;

void remove_files() {
  for (std::size_t i = g_count.exchange(0); i-- > 0;) {
    ::unlink(g_files[i].c_str());
  }
}

void end_by_signal(int signal) {
  remove_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// The file for these rows; "": they are in memory. Ends the program when it is
// there.
std::string path_of(const Settings& settings, const char* name) {
  if (settings.store.empty()) return "";
  std::string path = settings.store + "/" + name + ".rows";
  if (::access(path.c_str(), F_OK) == 0) {
    end_for(invalid(path +
                    " exists; remove it, if another run was killed and left "
                    "it, or name another folder"));
  }
  g_files[g_count] = path;
  ++g_count;
  return path;
}

// What is to be larger than DRAM. Ends the program when there is no room.
RowStore make(const Settings& settings, const char* name, std::int64_t rows,
              std::int64_t width) {
  const std::string path = path_of(settings, name);
  auto made = path.empty() ? RowStore::in_memory(rows, width)
                           : RowStore::in_file(path, rows, width);
  if (!made) end_for(made.error());
  return *std::move(made);
}

void print(const char* what, const torch::Tensor& result) {
  const auto flat = result.contiguous();
  const auto* bytes = static_cast<const std::uint8_t*>(flat.data_ptr());
  std::printf("%s %08x\n", what, crc32c({bytes, flat.nbytes()}));
}

// Parameters that walk about a minimum, as SGD's do with a constant rate.
void posterior(const Settings& settings) {
  constexpr std::int64_t kParameters = 1 << 20;  // 4 MiB a column
  const std::int64_t columns = std::max<std::int64_t>(2, settings.mib / 4);
  Swag swag(make(settings, "deviations", columns, kParameters));
  const auto minimum = torch::randn({kParameters});
  const auto noise = torch::randn({kParameters});
  auto parameters = torch::zeros({kParameters});
  for (std::int64_t step = 0; step < columns + 2; ++step) {
    parameters.lerp_(minimum, 0.1).add_(noise.roll(step), 0.01);
    if (const auto ok = swag.update(parameters); !ok) end_for(ok.error());
  }
  print("sample", swag.sample());
}

void regression(const Settings& settings) {
  constexpr std::int64_t kWidth = 256;  // the last is the target
  const std::int64_t samples = (settings.mib << 20) / (4 * kWidth);
  RowStore data = make(settings, "samples", samples, kWidth);
  const auto truth = torch::randn({kWidth - 1});
  const auto block = torch::randn({kRowsAtOnce, kWidth});
  for (std::int64_t at = 0; at < samples; at += kRowsAtOnce) {
    const auto end = std::min(samples, at + kRowsAtOnce);
    auto here = data.all().slice(0, at, end);
    here.copy_(block.slice(0, 0, end - at).roll(at / kRowsAtOnce, 1));
    here.select(1, kWidth - 1)
        .copy_(here.slice(1, 0, kWidth - 1).mv(truth))
        .add_(block.slice(0, 0, end - at).select(1, 0), 0.1);
    if (const auto ok = data.sync(at, end - at); !ok) end_for(ok.error());
    data.let_go(at, end - at);
  }
  DataOrder order(static_cast<std::uint64_t>(samples), 7);
  auto weights = torch::zeros({kWidth - 1});
  for (std::int64_t step = 0; step < settings.steps; ++step) {
    const auto next = order.next(256);
    const auto batch = data.gather(torch::tensor(
        std::vector<std::int64_t>(next.begin(), next.end()), torch::kInt64));
    const auto x = batch.slice(1, 0, kWidth - 1);
    const auto error = x.mv(weights) - batch.select(1, kWidth - 1);
    weights.sub_(x.t().mv(error), 0.2 / static_cast<double>(batch.size(0)));
    if ((step & (step - 1)) == 0 || step + 1 == settings.steps) {
      std::printf("step %jd, loss %.4f\n", static_cast<std::intmax_t>(step),
                  error.square().mean().item<double>());
    }
  }
  print("weights", weights);
}

// A rolled-up sheet in 64 dimensions, slightly off it.
void surface(const Settings& settings) {
  constexpr std::int64_t kWidth = 64;
  const std::int64_t points =
      std::max<std::int64_t>(kRowsAtOnce, (settings.mib << 20) / (4 * kWidth));
  RowStore data = make(settings, "points", points, kWidth);
  const auto frame = std::get<0>(torch::linalg_qr(torch::randn({kWidth, 3})));
  for (std::int64_t at = 0; at < points; at += kRowsAtOnce) {
    const std::int64_t count = std::min(points - at, kRowsAtOnce);
    const auto along = 3 * torch::rand({count}) + 1;
    const auto across = 4 * torch::rand({count});
    const auto roll = torch::stack(
        {along * (2.5 * along).cos(), across, along * (2.5 * along).sin()}, 1);
    data.all()
        .slice(0, at, at + count)
        .copy_(roll.matmul(frame.t()) + 1e-3 * torch::randn({count, kWidth}));
  }
  const auto gmra = Gmra::build(data, path_of(settings, "leaves"),
                                {.levels = 5, .smallest = 64, .dimension = 3});
  if (!gmra) end_for(gmra.error());
  double missed = 0, all = 0;
  torch::Tensor last;
  for (std::int64_t point = 0; point < points; point += points / 64) {
    const auto back = gmra->inverse(gmra->path(point), gmra->transform(point));
    missed += (back - data.row(point)).square().sum().item<double>();
    all += data.row(point).square().sum().item<double>();
    last = back;
  }
  std::printf("%zu cells, %d levels, %.4f %% of a point's energy missed\n",
              gmra->tree().cells().size(), gmra->tree().levels(),
              100 * missed / all);
  print("point", last);
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  Settings settings;
  CLI::App app{"Jobs whose data need not fit DRAM."};
  app.add_option("--store", settings.store,
                 "a folder of a larger tier for the rows (none: in memory)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--mib", settings.mib, "of rows")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--steps", settings.steps, "of the regression")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.require_subcommand(1);
  app.add_subcommand("posterior", "SWAG: of a network's parameters");
  app.add_subcommand("regression", "SGD over a data set");
  app.add_subcommand("surface", "GMRA: of points near a surface");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(1);
  torch::manual_seed(5);
  std::atexit(remove_files);  // end_for(), too
  for (const int end : {SIGINT, SIGTERM}) {
    if (std::signal(end, end_by_signal) == SIG_IGN) std::signal(end, SIG_IGN);
  }
  const torch::NoGradGuard no_grad;
  const std::string job = app.get_subcommands().front()->get_name();
  if (job == "posterior") posterior(settings);
  if (job == "regression") regression(settings);
  if (job == "surface") surface(settings);
}
