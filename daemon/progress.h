// Progress: one line on standard error that is redrawn in place.
//
// On a terminal the line is redrawn; elsewhere nothing is printed, so that
// logs stay readable. The line is cleared when the object goes away.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace thermocline {

class Progress {
 public:
  explicit Progress(bool quiet = false)
      : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { show(""); }

  void show(const std::string& line) const {
    if (!shown_) return;
    // What wraps cannot be redrawn.
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    const int room = known && size.ws_col > 1 ? size.ws_col - 1 : 79;
    std::fprintf(stderr, "\r\033[K%.*s", room, line.c_str());
    std::fflush(stderr);
  }

 private:
  bool shown_;
};

}  // namespace thermocline
