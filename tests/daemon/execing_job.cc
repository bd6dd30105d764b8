// execing_job: verifies memory of its own, and becomes a new image of itself
// again and again, whatever somebody does with its pages meanwhile.
//
//   execing_job MIB TIMES
//
// Each image fills MIB of new memory with numbers of its own, verifies and
// changes them for 50 to 300 ms, and executes the next one. The last prints
// "images N" and "words wrong N". Exit status 0 when no word was wrong.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

// Of a word in one image's round.
std::uint64_t number_of(std::uint64_t word, std::uint64_t image,
                        std::uint64_t round) {
  return (word + 1) * 0x9e3779b97f4a7c15 + (image << 32) + round;
}

std::uint64_t wrong_words(std::uint64_t* memory, std::uint64_t words,
                          std::uint64_t image, Clock::time_point until) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < words; ++i) memory[i] = number_of(i, image, 0);
  for (std::uint64_t round = 0; round == 0 || Clock::now() < until; ++round) {
    for (std::uint64_t i = 0; i < words; ++i) {
      wrong += memory[i] != number_of(i, image, round);
      memory[i] = number_of(i, image, round + 1);
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at) {
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : 0;
  };
  // The last two are for the next image alone.
  const std::uint64_t mib = number(1), times = number(2), image = number(3);
  std::uint64_t wrong = number(4);
  if (mib < 1 || mib > 4096 || times < 1) {
    std::fprintf(stderr, "usage: execing_job MIB TIMES\n");
    return 2;
  }
  const std::uint64_t bytes = mib << 20;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  std::minstd_rand dice(static_cast<unsigned>(image + 1));
  const auto until = Clock::now() + std::chrono::milliseconds(
                                        50 + static_cast<int>(dice() % 250));
  wrong +=
      wrong_words(static_cast<std::uint64_t*>(memory), bytes / 8, image, until);
  if (image + 1 < times) {
    ::execl("/proc/self/exe", argv[0], argv[1], argv[2],
            std::to_string(image + 1).c_str(), std::to_string(wrong).c_str(),
            nullptr);
    return 2;
  }
  std::printf("images %lu\nwords wrong %lu\n", image + 1, wrong);
  return wrong == 0 ? 0 : 1;
}
