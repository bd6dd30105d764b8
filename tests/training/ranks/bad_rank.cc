// bad_rank late|dead: a job whose last rank does not come to the barrier, or
// dies. The others must say so and end; tests look at what is printed.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "training/ranks/mpi_ranks.h"

int main(int argc, char** argv) {
  using namespace thermocline;
  if (argc != 2) return 2;
  MpiOptions options;
  options.barrier_seconds = 1;
  auto ranks = join_mpi(options);
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().message.c_str());
    return 2;
  }
  if ((*ranks)->rank() == (*ranks)->size() - 1) {
    if (std::strcmp(argv[1], "dead") == 0) raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::seconds(20));
  }
  if (auto met = (*ranks)->barrier(); !met) {
    std::fprintf(stderr, "%s\n", met.error().message.c_str());
    return 1;
  }
  return 0;
}
