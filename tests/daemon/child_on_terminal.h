// A command on a terminal of its own, where it shows its progress: so that a
// test knows how far it is, however busy the machine, before it stops it.
#pragma once

#include <pty.h>

#include <cstdlib>
#include <fstream>

#include "tests/daemon/thermoclined_process.h"

namespace thermocline {

class ChildOnTerminal : public Running {
 public:
  explicit ChildOnTerminal(const std::vector<std::string>& command)
      : Running(60'000) {
    pid_ = ::forkpty(&from_, nullptr, nullptr, nullptr);
    if (pid_ < 0) std::abort();
    if (pid_ == 0) become(command);
  }
  // Waits until it has said this; false when it ends or is silent for 60 s.
  bool said(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
};

// Waits until a process hears a signal, and would not just die of it.
inline bool hears(int pid, int number) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  for (int tries = 0; tries < 12'000; ++tries) {
    std::ifstream status(path);
    for (std::string word; status >> word;) {
      if (word != "SigCgt:") continue;
      std::uint64_t caught = 0;
      status >> std::hex >> caught;
      if ((caught >> (number - 1) & 1) != 0) return true;
    }
    ::usleep(5'000);
  }
  return false;
}

}  // namespace thermocline
