#include "daemon/work.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#include "daemon/units.h"

namespace thermocline {
namespace {

using Seconds = std::chrono::duration<double>;

// Work that is done sooner needs no bar.
constexpr Seconds kUnseen{0.5};
constexpr Seconds kBetween{0.1};

// Threads may look while a handler writes.
std::atomic<int> stop_signal = 0;
std::atomic<bool> stop = false;
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

// Set when the object is made, for a handler may not ask much.
bool on_terminal = false;

void ask(int number) {
  stop_signal = number;
  stop = true;
  std::signal(number, SIG_DFL);
}

void leave(int number) {
  const auto put = [](std::string_view text) {
    const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
    static_cast<void>(ignored);
  };
  if (on_terminal) put("\r\033[K");
  put("thermocline: stopped; nothing was written\n");
  ::_exit(128 + number);
}

// Whoever waits for a pipe comes back from it.
void hear(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

std::string duration(double seconds) {
  char text[32];
  const auto whole = static_cast<long long>(std::min(seconds + 0.5, 1e9));
  if (whole < 120) {
    std::snprintf(text, sizeof text, "%lld s", whole);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld min", whole / 60, whole % 60);
  }
  return text;
}

}  // namespace

std::string progress_bar(double share, double left_s, const std::string& rate,
                         const std::string& now) {
  constexpr int kWidth = 20;
  const double part = std::clamp(share, 0.0, 1.0);
  const int filled = static_cast<int>(part * kWidth);
  char text[128];
  std::snprintf(text, sizeof text, "[%.*s%*s] %.0f %%", filled,
                "####################", kWidth - filled, "", part * 100);
  std::string out = text;
  if (left_s >= 0) out += ", " + duration(left_s) + " left";
  if (!rate.empty()) out += ", " + rate;
  return out + ": " + now;
}

Work::Work(bool quiet, OnStop on_stop) : progress_(quiet) {
  on_terminal = ::isatty(STDERR_FILENO) == 1;
  hear(on_stop == OnStop::kAsk ? ask : leave);
}

Work::~Work() { hear(SIG_DFL); }

bool Work::due(bool fresh) {
  const auto now = Clock::now();
  if (now - began_ < kUnseen) return false;
  if (!fresh && now - shown_ < kBetween) return false;
  shown_ = now;
  return true;
}

bool Work::show(double share, const std::string& now, const std::string& rate) {
  if (share < share_ || share_ == 0) {
    part_began_ = Clock::now();
    part_share_ = share;
  }
  share_ = share;
  if (due(std::exchange(saying_, false))) {
    const double took = Seconds(Clock::now() - part_began_).count();
    const double done = share - part_share_;
    const double left = done > 0 ? took * (1 - share) / done : -1;
    progress_.show(progress_bar(share, left, rate, now));
  }
  return stop_signal == 0;
}

bool Work::say(const std::string& now) {
  share_ = 0;
  if (due(!std::exchange(saying_, true))) progress_.show(now);
  return stop_signal == 0;
}

Watch Work::reading(std::string file) {
  share_ = 0;
  part_began_ = Clock::now();
  return [this, began = part_began_, file = std::move(file)](Bytes done,
                                                             Bytes all) {
    const double took = Seconds(Clock::now() - began).count();
    const std::string rate =
        took > 0 ? show_bytes(static_cast<double>(done) / took) + "/s" : "";
    if (all == 0) {
      return say("reading " + file + ", " +
                 show_bytes(static_cast<double>(done)) + ", " + rate);
    }
    return show(static_cast<double>(done) / static_cast<double>(all),
                "reading " + file, rate);
  };
}

bool stop_asked() { return stop_signal != 0; }

const std::atomic<bool>& stop_flag() { return stop; }

int stop_status() { return 128 + stop_signal; }

int status_of(const Error& error) {
  const bool asked = error.code == Error::Code::kInterrupted && stop_asked();
  return asked ? stop_status() : 1;
}

Error stopped(const std::string& what_is_kept) {
  return interrupted("stopped; " + what_is_kept);
}

}  // namespace thermocline
