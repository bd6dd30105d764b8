#include "training/elastic/membership.h"

#include <algorithm>

namespace thermocline {
namespace {

// What mpirun would read as another word or another host.
bool is_host(const std::string& name) {
  return name.empty() ||
         (name.front() != '-' && name.find_first_of(", :\t\n") == name.npos);
}

std::string here_or(const std::string& host) {
  return host.empty() ? "this host" : host;
}

}  // namespace

Membership::Membership(int workers, int tries)
    : hosts_{{"", workers}}, tries_(tries) {
  CHECK(workers >= 1 && tries >= 1);
}

int Membership::workers() const {
  int out = 0;
  for (const Host& host : hosts_) out += host.workers;
  return out;
}

Status Membership::join(const std::string& host, int workers) {
  if (over_) return unsupported("the job has ended; start it again");
  if (workers < 1) {
    return invalid(std::to_string(workers) +
                   " workers cannot join; give 1 or more");
  }
  if (!is_host(host)) {
    return invalid("\"" + host +
                   "\" is not the name of a host; give one without spaces, "
                   "commas and colons");
  }
  const auto at = std::find_if(hosts_.begin(), hosts_.end(),
                               [&](const Host& h) { return h.name == host; });
  if (at == hosts_.end()) {
    hosts_.push_back({host, workers});
  } else {
    at->workers += workers;
  }
  changed_ = true;
  return {};
}

Status Membership::leave(const std::string& host, int workers) {
  if (over_) return unsupported("the job has ended; start it again");
  if (workers < 1) {
    return invalid(std::to_string(workers) +
                   " workers cannot leave; give 1 or more");
  }
  const auto at = std::find_if(hosts_.begin(), hosts_.end(),
                               [&](const Host& h) { return h.name == host; });
  const int there = at == hosts_.end() ? 0 : at->workers;
  if (there < workers) {
    return not_found(here_or(host) + " has " + std::to_string(there) +
                     " workers of this job; thermocline job status shows all");
  }
  if (at == hosts_.begin() && there == workers) {
    return invalid(
        "one worker stays on this host, where the first rank is; `stop` ends "
        "the job");
  }
  at->workers -= workers;
  if (at->workers == 0) hosts_.erase(at);
  changed_ = true;
  return {};
}

int Membership::start() {
  changed_ = left_ = finished_ = saved_in_run_ = false;
  progress_.began.reset();
  return ++progress_.run;
}

void Membership::began(std::uint64_t step) {
  progress_.began = step;
  // What was done beyond the checkpoint is done again.
  if (progress_.step > step) {
    progress_.most_lost = std::max(progress_.most_lost, progress_.step - step);
  }
  progress_.step = step;
}

void Membership::stepped(std::uint64_t step, double loss) {
  progress_.step = step;
  progress_.loss = loss;
}

void Membership::saved(std::uint64_t step) {
  saved_in_run_ = saved_in_run_ || !progress_.saved || step > *progress_.saved;
  progress_.saved = step;
}

// Who came last goes first; one worker here is the least.
void Membership::drop_one() {
  if (workers() == 1) return;
  if (--hosts_.back().workers == 0) hosts_.pop_back();
}

Membership::Next Membership::ended(int status) {
  const auto over = [this](Next next) {
    over_ = true;
    return next;
  };
  // What it said last counts: it may die in leaving.
  if (finished_) return over(Next::kDone);
  if (left_) return stopping_ ? over(Next::kDone) : Next::kRun;
  if (status == 0) return over(Next::kDone);
  ++progress_.deaths;
  if (stopping_) return over(Next::kGiveUp);
  fruitless_ = saved_in_run_ ? 0 : fruitless_ + 1;
  if (fruitless_ >= tries_) return over(Next::kGiveUp);
  if (fruitless_ > 0) drop_one();
  return Next::kRun;
}

}  // namespace thermocline
