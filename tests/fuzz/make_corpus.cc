// make_corpus DIRECTORY: writes the seeds of the targets below and the example
// of the format, all the same each time:
//   DIRECTORY/tests/fuzz/corpus/{trace,block,state,config}/seed_*
//   DIRECTORY/traces/samples/small.trace, only where it is missing
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "daemon/settings.h"
#include "tests/daemon/some_state.h"
#include "tests/traces/small_trace.h"
#include "traces/block.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

ByteVector load(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return ByteVector(std::istreambuf_iterator<char>(in), {});
}

void save(const fs::path& path, ByteSpan bytes) {
  std::ofstream out(path, std::ios::binary);
  for (const auto byte : bytes) out.put(static_cast<char>(byte));
  CHECK(out.good());
}

ByteVector bytes_of(const Trace& trace) {
  const auto path = fs::temp_directory_path() / "make_corpus.trace";
  CHECK(write_trace(path, trace, true).has_value());
  auto bytes = load(path);
  fs::remove(path);
  return bytes;
}

// show(kind, payload) for every block of a whole file.
void each_block(ByteSpan file,
                const std::function<void(std::uint8_t, ByteSpan)>& show) {
  Unpacker unpacker;
  file = file.subspan(kFileHeaderBytes);
  while (!file.empty()) {
    const auto header = read_block_header(file.first(kBlockHeaderBytes));
    CHECK(header.has_value());
    const auto stored = file.subspan(kBlockHeaderBytes, header->stored_bytes);
    const auto payload = unpacker.unpack(*header, stored);
    CHECK(payload.has_value());
    show(header->kind, *payload);
    file = file.subspan(kBlockHeaderBytes + stored.size());
  }
}

void make_trace_seeds(const fs::path& to, const Trace& small) {
  const auto whole = bytes_of(small);
  save(to / "seed_whole", whole);
  save(to / "seed_cut", ByteSpan(whole).first(whole.size() * 2 / 3));
  auto flipped = whole;
  flipped[whole.size() / 2] ^= 0x10;
  save(to / "seed_flipped", flipped);
  Trace empty;
  empty.end.known = true;
  save(to / "seed_empty", bytes_of(empty));
  save(to / "seed_header", file_header());
  auto longer = bytes_of(empty);
  longer.push_back('x');
  save(to / "seed_longer", longer);
}

void make_block_seeds(const fs::path& to, const Trace& small) {
  ByteVector all;
  each_block(bytes_of(small), [&](std::uint8_t kind, ByteSpan payload) {
    ByteVector one{kind, static_cast<std::uint8_t>(payload.size()),
                   static_cast<std::uint8_t>(payload.size() >> 8)};
    put_bytes(one, payload);
    save(to / ("seed_" + block_kind_name(kind)), one);
    put_bytes(all, one);
  });
  save(to / "seed_all", all);
  save(to / "seed_unknown", ByteVector{99, 2, 0, 1, 2});
}

void save(const fs::path& path, const std::string& text) {
  save(path, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()),
                      text.size()));
}

void make_state_seeds(const fs::path& to) {
  auto state = some_state();
  save(to / "seed_whole", to_bytes(state));
  // Set by hand and not yet forgotten, for a service that starts as before.
  state.configured = {"hottest_first", "{}", Bytes{256} << 20, false};
  save(to / "seed_by_hand", to_bytes(state));
  state.targets[0].known.regions.clear();
  state.history.clear();
  save(to / "seed_small", to_bytes(state));
  state.tiers = {"other"};
  save(to / "seed_other_tiers", to_bytes(state));
  save(to / "seed_nothing", to_bytes(State()));
}

void make_config_seeds(const fs::path& to) {
  save(to / "seed_default", config_text(Settings()));
  save(to / "seed_rules",
       R"({"targets": [{"cgroup": "jobs", "weight": 2, "minimum": 4096},
             {"exe": "python3", "user": 0, "least": 5, "children": false}],
 "without": ["slowdown", "pressure"], "pids": [1, 2]})");
  save(to / "seed_policy",
       R"({"policy": "histogram", "options": {"cooling": 0.5}, // mine
 "budget": 5, "interval": 250, "headroom": 1e-3, "dry_run": true})");
  save(to / "seed_agent", R"({"agent": "a.pt", "source": "perf"})");
  save(to / "seed_too_large", R"({"headroom": 1e999})");
}

void make_all(const fs::path& root) {
  Trace small = small_trace();
  const auto sample = root / "traces/samples/small.trace";
  fs::create_directories(sample.parent_path());
  if (!fs::exists(sample)) save(sample, bytes_of(small));
  small.samples.resize(20);
  small.sequences = {
      {1'000'000,
       4711,
       0,
       {{0x7f2a40000000, 0x55d0c0de0000, 0},
        {0x7f2a40000040, 0x55d0c0de0000, 9, Access::kLoad, Source::kL2},
        {0x7f2a40300000, 0x55d0c0de0010, 4, Access::kStore, Source::kPmem}}}};
  for (const char* name : {"trace", "block", "state", "config"}) {
    fs::create_directories(root / "tests/fuzz/corpus" / name);
  }
  make_trace_seeds(root / "tests/fuzz/corpus/trace", small);
  make_block_seeds(root / "tests/fuzz/corpus/block", small);
  make_state_seeds(root / "tests/fuzz/corpus/state");
  make_config_seeds(root / "tests/fuzz/corpus/config");
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  thermocline::make_all(argv[1]);
  return 0;
}
