#include "daemon/loop.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "daemon/metrics.h"
#include "daemon/report.h"

namespace thermocline {
namespace {

constexpr Nanos kObserverRest = 10'000'000;
// While a plan is followed: as often as the observer sends (observer_torch.cc).
constexpr Nanos kPlanRest = 2'000'000;
// Between looks at how much memory there is: a tenth of a window, at least so
// long.
constexpr Nanos kGlance = 100'000'000;

// Places in what is waited for; the rest come and go.
enum Waiting : std::size_t { kSignals, kMoves };

}  // namespace

Loop::Loop(Parts parts, Options options)
    : parts_(std::move(parts)),
      options_(options),
      api_(parts_.service, [this](const std::string& line) { audit(line); }),
      answers_{
          [this](std::string_view request, const Caller& caller,
                 std::string& reply) { api_.answer(request, caller, reply); },
          [this] { return metrics_text(parts_.service, own_usage()); },
          [this](const std::string& line) { parts_.warn(line); }},
      next_window_(parts_.kernel.now() + options.interval_ns),
      had_target_(!parts_.service.managed().empty()) {}

void Loop::audit(const std::string& line) {
  parts_.log(line);
  parts_.service.record(line);
  parts_.server.publish("control", control_event(line));
}

bool Loop::told_to_stop() {
  signalfd_siginfo signal{};
  while (parts_.signals >= 0 &&
         ::read(parts_.signals, &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGHUP) return true;
    if (parts_.reload) parts_.reload();
  }
  return false;
}

// Plans are made from what the job's observer tells, and need no samples.
void Loop::warn_unsampled() {
  auto& service = parts_.service;
  if (options_.sampled || warned_unsampled_ || service.plans() ||
      service.managed().empty()) {
    return;
  }
  warned_unsampled_ = true;
  service.notice(
      "no samples will come (source none): policies have nothing to go by, and "
      "no page will move; set \"source\" to perf, or to pages where there is "
      "no PMU (thermocline doctor tells), and restart thermoclined");
}

void Loop::log_new_notices() {
  const auto& notices = parts_.service.notices();
  notices.each_after(notices_logged_, parts_.warn);
  notices_logged_ = notices.given();
}

void Loop::end_window() {
  auto& service = parts_.service;
  parts_.sources.read(service, parts_.kernel.now(), true);
  const auto report = service.end_window();
  for (const auto& target : report.targets) {
    if (!target.ended) continue;
    parts_.log("pid " + std::to_string(target.pid) + " (" + target.name +
               ") has ended");
  }
  parts_.server.publish("window", window_event(report, service));
  if (report.moves.decided > 0 || report.moves.moved_bytes() > 0) {
    service.record(window_line(report));
  }
  if (auto status = parts_.sources.follow(service.pids()); !status) {
    service.notice("no samples: " + status.error().message);
  }
  had_target_ = had_target_ || !service.managed().empty();
  warn_unsampled();
  log_new_notices();
  if (parts_.window_ended) parts_.window_ended();
}

void Loop::watch_observer(Nanos now, Nanos& until) {
  observer_at_ = 0;
  if (parts_.observer == nullptr) return;
  if (observer_rests_until_ > now) {
    until = std::min(until, observer_rests_until_);
    return;
  }
  observer_at_ = waiting_.size();
  waiting_.push_back({parts_.observer->descriptor(), POLLIN, 0});
}

// Until something is to be done.
Status Loop::sleep(bool more) {
  const Nanos now = parts_.kernel.now();
  waiting_.assign({{parts_.signals, POLLIN, 0},
                   {parts_.service.moves_descriptor(), POLLIN, 0}});
  for (const int requests : parts_.server.descriptors()) {
    waiting_.push_back({requests, POLLIN, 0});
  }
  Nanos until = next_window_;
  const int sampler = parts_.sources.watch(waiting_, now);
  if (sampler >= 0) until = std::min(until, now + sampler * Nanos{1'000'000});
  if (!parts_.service.managed().empty()) until = std::min(until, next_glance_);
  if (const auto due = parts_.service.next_due()) until = std::min(until, *due);
  watch_observer(now, until);
  const Nanos left = more ? 0 : std::max<Nanos>(0, until - now);
  const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
  const int ready = ::ppoll(waiting_.data(), waiting_.size(), &wait, nullptr);
  if (ready >= 0 || errno == EINTR) return {};
  return io(std::string("poll failed: ") + std::strerror(errno));
}

void Loop::hear_observer(Nanos now) {
  if (observer_at_ == 0 || !woken_by(observer_at_)) return;
  const bool any = parts_.observer->poll(
      [this](const ObserverEvent& event) { parts_.service.hear(event); });
  if (!any) return;
  observer_rests_until_ =
      now + (parts_.service.next_due() ? kPlanRest : kObserverRest);
}

Status Loop::run() {
  auto ended = turn();
  parts_.service.finish_moves();
  return ended;
}

Status Loop::turn() try {
  warn_unsampled();
  log_new_notices();
  bool more = false;
  for (;;) {
    if (auto slept = sleep(more); !slept) return slept;
    if (woken_by(kSignals) && told_to_stop()) return {};
    const Nanos now = parts_.kernel.now();
    api_.begin_turn();
    more = parts_.server.serve(answers_, now);
    api_.end_turn();
    if (now >= next_glance_) {
      parts_.service.glance();
      next_glance_ = now + std::max(kGlance, options_.interval_ns / 10);
    }
    parts_.sources.read(parts_.service, now, false);
    hear_observer(now);
    if (woken_by(kMoves)) parts_.service.collect_moves();
    if (parts_.service.plans()) parts_.service.follow_plans();
    if (now >= next_window_) {
      end_window();
      next_window_ = std::max(next_window_, now) + options_.interval_ns;
      if (options_.exit_with_target && had_target_ &&
          parts_.service.managed().empty()) {
        return {};
      }
    }
    if (api_.stopping()) return {};
  }
} catch (const std::exception& error) {
  // A policy's library (LibTorch) may throw; the sockets must still go.
  return io(std::string("the policy or a library failed: ") + error.what());
}

}  // namespace thermocline
