// A job of somebody else's, built against what is installed: counts in a
// checkpoint, on two ranks.
#include <array>
#include <cstdio>

#include "training/checkpoint.h"
#include "training/ranks/thread_ranks.h"

int main(int, char** argv) {
  using namespace thermocline;
  std::array<std::uint8_t, 4096> state{};
  const std::array<Piece, 1> pieces = {Piece{.name = "state", .bytes = state}};
  const auto bytes = CheckpointPool::slot_bytes_for(pieces);
  auto pool = CheckpointPool::create(argv[1], {.slot_bytes = bytes});
  if (!pool) return std::puts(pool.error().message.c_str()), 1;
  run_as_threads(2, [&](Ranks& ranks) {
    const auto ids = ranks.gather(ranks.rank() + 20);
    if (ids && ranks.rank() == 1)
      state[7] = std::uint8_t((*ids)[0] + (*ids)[1]);
  });
  if (!pool->save(pieces, 1)) return 1;
  const auto back = pool->restore();
  if (!back) return std::puts(back.error().message.c_str()), 1;
  std::printf("%d at step %d\n", back->pieces[0].bytes[7], int(back->step));
  return 0;
}
