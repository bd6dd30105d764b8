// A job of somebody else's with LibTorch: saves a tensor's bytes and exports
// them for torch.load.
#include <c10/core/ScalarType.h>  // is found by the target, as is c10 itself

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "training/torch_export.h"

int main(int, char** argv) {
  using namespace thermocline;
  const std::string path = argv[1];
  std::array<std::uint8_t, 64> state{};
  const Piece piece{
      .name = "w", .type = "float32", .shape = {4, 4}, .bytes = state};
  const std::array<Piece, 1> pieces = {piece};
  const auto bytes = CheckpointPool::slot_bytes_for(pieces);
  auto pool = CheckpointPool::create(path, {.slot_bytes = bytes});
  if (!pool) return std::puts(pool.error().message.c_str()), 1;
  if (!pool->save(pieces, 3)) return 1;
  const auto back = pool->restore();
  if (!back) return std::puts(back.error().message.c_str()), 1;
  const auto count = export_tensors(*back, path + ".pt", {});
  if (!count) return std::puts(count.error().message.c_str()), 1;
  const auto element = c10::elementSize(c10::ScalarType::Float);
  std::printf("%zu tensor of %zu\n", *count, state.size() / element);
  // LibTorch's own end takes as long as all of this.
  std::fflush(stdout);
  std::_Exit(0);
}
