// A job of somebody else's over Open MPI: alone, as one rank.
#include <cstdio>

#include "training/ranks/mpi_ranks.h"

int main() {
  using namespace thermocline;
  const auto ranks = join_mpi();
  if (!ranks) return std::puts(ranks.error().message.c_str()), 1;
  const auto all = (*ranks)->gather(41);
  if (!all) return std::puts(all.error().message.c_str()), 1;
  std::printf("%lld from rank %d of %d\n", static_cast<long long>((*all)[0]),
              (*ranks)->rank(), (*ranks)->size());
  return 0;
}
