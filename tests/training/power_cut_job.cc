// power_cut_job: a job that saves after every step until somebody pulls the
// plug, and says what it finds when it is started again.
//
//   power_cut_job POOL [--mib N] [--steps N]
//
// Its state is a function of the step: a third of its chunks change in each.
// So whatever checkpoint is restored can be checked, every byte of it, against
// the step that it claims to be. Prints, for who pulls the plug:
//   restored STEP wrong BYTES damaged LINES granularity WORD durable 0|1
//   saving STEP        before a save
//   saved STEP         when the pool says that it is durable
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "training/checkpoint.h"

namespace thermocline {
namespace {

constexpr std::size_t kChunkWords = 64 * 1024 / sizeof(std::uint64_t);

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

bool changes(std::size_t chunk, std::uint64_t step) {
  return step == 0 || mixed(chunk << 32 ^ step) % 3 == 0;
}

void fill(std::vector<std::uint64_t>& state, std::size_t chunk,
          std::uint64_t step) {
  const std::uint64_t seed = mixed(chunk << 32 ^ step);
  for (std::size_t i = 0; i < kChunkWords; ++i) {
    state[chunk * kChunkWords + i] = seed + i;
  }
}

std::vector<std::uint64_t> state_at(std::size_t chunks, std::uint64_t step) {
  std::vector<std::uint64_t> out(chunks * kChunkWords);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    std::uint64_t last = step;
    while (!changes(chunk, last)) --last;
    fill(out, chunk, last);
  }
  return out;
}

int fail(const Error& error) {
  std::fprintf(stderr, "power_cut_job: %s\n", error.message.c_str());
  return 1;
}

std::vector<Piece> pieces_of(const std::vector<std::uint64_t>& state) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(state.data());
  const std::size_t half = state.size() * sizeof state[0] / 2;
  return {{.name = "model", .bytes = {bytes, half}},
          {.name = "optimizer", .bytes = {bytes + half, half}}};
}

Bytes wrong_bytes(const Restored& found, std::size_t chunks) {
  const auto wanted = state_at(chunks, found.step);
  Bytes wrong = 0;
  for (const Piece& piece : pieces_of(wanted)) {
    const Piece* there = found.find(piece.name);
    if (there == nullptr || there->bytes.size() != piece.bytes.size()) {
      wrong += piece.bytes.size();
      continue;
    }
    for (std::size_t i = 0; i < piece.bytes.size(); ++i) {
      wrong += piece.bytes[i] != there->bytes[i];
    }
  }
  return wrong;
}

Result<CheckpointPool> pool_at(const std::string& path, Bytes slot_bytes) {
  auto pool = CheckpointPool::open(path);
  if (pool || pool.error().code != Error::Code::kNotFound) return pool;
  return CheckpointPool::create(path, {.slot_bytes = slot_bytes});
}

int run(const std::string& path, std::size_t chunks, std::uint64_t steps) {
  auto state = state_at(chunks, 0);
  auto pool = pool_at(path, CheckpointPool::slot_bytes_for(pieces_of(state)));
  if (!pool) return fail(pool.error());
  std::uint64_t step = 0;
  const auto found = pool->restore();
  if (!found && found.error().code != Error::Code::kNotFound) {
    return fail(found.error());
  }
  if (found) step = found->step;
  const auto durability = pool->durability();
  std::printf("restored %ju wrong %ju damaged %zu granularity %s durable %d\n",
              step, found ? wrong_bytes(*found, chunks) : 0,
              found ? found->damage.size() : 0,
              granularity_name(durability.granularity), durability.power_cut);
  std::fflush(stdout);
  state = state_at(chunks, step);
  for (const std::uint64_t end = step + steps; step < end;) {
    ++step;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      if (changes(chunk, step)) fill(state, chunk, step);
    }
    std::printf("saving %ju\n", step);
    std::fflush(stdout);
    if (auto saved = pool->save(pieces_of(state), step); !saved) {
      return fail(saved.error());
    }
    std::printf("saved %ju\n", step);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  std::string path;
  std::size_t mib = 8;
  std::uint64_t steps = 1'000'000;
  CLI::App app{"Saves after every step, and says what it finds at its start."};
  app.add_option("pool", path, "of its checkpoints")->required();
  app.add_option("--mib", mib, "of state")->check(CLI::Range(1, 1024));
  app.add_option("--steps", steps, "before it ends by itself");
  CLI11_PARSE(app, argc, argv);
  return thermocline::run(path, mib * 16, steps);
}
