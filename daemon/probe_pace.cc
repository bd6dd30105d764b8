#include "daemon/probe_pace.h"

#include <algorithm>
#include <utility>

#include "daemon/work.h"

namespace thermocline {
namespace {

constexpr double kLeast_s = 0.001;  // that a clock can tell

double steady_seconds() { return seconds_since({}); }

}  // namespace

ProbePace::ProbePace(const std::atomic<bool>& stop, double limit_s, Show show,
                     Now now)
    : stop_(stop),
      show_(std::move(show)),
      now_(now ? std::move(now) : steady_seconds),
      start_(now_()),
      end_(start_ + limit_s),
      until_(end_) {}

void ProbePace::plan(int weight) { planned_ += weight; }

void ProbePace::begin(const std::string& what, int weight) {
  const double now = now_();
  const int left = std::max(planned_ - begun_, weight);
  until_ = now + std::max(end_ - now, 0.0) * weight / left;
  if (show_) {
    const double share =
        planned_ > 0 ? static_cast<double>(begun_) / planned_ : 0;
    show_(share, place_.empty() ? what : place_ + ": " + what);
  }
  begun_ += weight;
}

double ProbePace::repeat_s(double wanted_s, int repeats, int before) const {
  return std::min(wanted_s, std::max(left_s() / (repeats + before), kLeast_s));
}

bool ProbePace::again(int done, int repeats, double last_s) const {
  if (done == 0) return true;
  return done < repeats && left_s() >= last_s;
}

Status ProbePace::go_on() const {
  if (stop_) return stopped("nothing was written");
  return {};
}

}  // namespace thermocline
