#include "daemon/state_keeper.h"

#include <algorithm>

#include "daemon/deaf_thread.h"
#include "daemon/guard_switches.h"
#include "daemon/process.h"

namespace thermocline {
namespace {

// Less than this is no access.
constexpr float kLeast = 0.01F;
// Of one target's policy, and of all: a plugin may say what it likes, and the
// pool is small.
constexpr std::size_t kMostLearned = std::size_t{1} << 20;
constexpr std::size_t kAllLearned = std::size_t{8} << 20;

Controls controls_of(const Service& service) {
  return {service.options().policy, service.options().policy_options,
          service.budget(), service.paused(), service.options().without};
}

std::vector<std::string> tier_names(const Machine& machine) {
  std::vector<std::string> out;
  for (const auto& tier : machine.tiers) out.push_back(tier.name);
  return out;
}

}  // namespace

StateKeeper::StateKeeper(Kernel& kernel, Service& service, State before,
                         Write write, WallClock clock, Options options)
    : kernel_(kernel),
      service_(service),
      before_(std::move(before)),
      write_(std::move(write)),
      clock_(std::move(clock)),
      options_(options),
      configured_(controls_of(service)),
      thread_(deaf_thread([this] { work(); })) {}

StateKeeper::~StateKeeper() { finish(); }

void StateKeeper::resume_controls(std::vector<std::string>& said) {
  if (before_.configured != configured_ || before_.now == before_.configured) {
    return;
  }
  const auto& now = before_.now;
  if (now.policy != configured_.policy || now.options != configured_.options) {
    const auto set = service_.set_policy(now.policy, now.options);
    said.push_back(set ? "policy " + now.policy + " again, as set before"
                       : "policy " + now.policy +
                             ", as set before: " + set.error().message);
  }
  if (now.budget != configured_.budget) {
    service_.set_budget(now.budget);
    said.push_back("budget " + std::to_string(now.budget) +
                   " bytes/s again, as set before");
  }
  resume_guards(said);
  if (now.paused) {
    service_.pause(true);
    said.emplace_back("paused again, as before");
  }
}

void StateKeeper::resume_guards(std::vector<std::string>& said) {
  const auto& off = before_.now.without;
  if (off == configured_.without) return;
  for (const auto& line : switch_guards(service_, off)) said.push_back(line);
  said.emplace_back("guards are on and off again, as set before");
}

std::string StateKeeper::resume_target(const TargetState& target) {
  const auto who =
      "pid " + std::to_string(target.pid) + " (" + target.name + ")";
  const auto process = read_process(kernel_, target.pid);
  if (!process || process->started != target.started || process->zombie) {
    return who + " has ended meanwhile";
  }
  if (service_.find(target.pid) == nullptr) {
    auto attached = service_.attach(target.pid, target.share);
    if (!attached) {
      return who + " is not managed again: " + attached.error().message;
    }
  }
  const auto known = service_.recall(target.pid, target.known);
  const std::string learned =
      !known.learned ? "; what its policy had learned is not used: " +
                           known.learned.error().message
      : target.known.learned.empty() ? ""
                                     : " and with what its policy had learned";
  return who + " goes on after window " + std::to_string(target.known.window) +
         ", with what is known of " + std::to_string(known.regions) +
         " regions" + learned;
}

std::vector<std::string> StateKeeper::resume() {
  std::vector<std::string> said;
  if (before_.saved_at_s == 0) return said;  // nothing was saved yet
  ++before_.restarts;
  for (const auto& line : before_.history) service_.record(line);
  if (before_.tiers != tier_names(service_.machine())) {
    said.emplace_back(
        "the state is of a machine with other tiers; only its history is kept");
    return said;
  }
  resume_controls(said);
  service_.find_targets();  // so that it is known which rule found them
  for (const auto& target : before_.targets) {
    said.push_back(resume_target(target));
  }
  const auto ago = clock_() - before_.saved_at_s;
  service_.record("went on from a state that is " + std::to_string(ago) +
                  " s old");
  return said;
}

State StateKeeper::capture() {
  State out;
  out.saved_at_s = clock_();
  out.restarts = before_.restarts;
  out.tiers = tier_names(service_.machine());
  out.configured = configured_;
  out.now = controls_of(service_);
  out.moved_bytes = before_.moved_bytes + service_.moves().moved_bytes();
  out.windows =
      before_.windows + static_cast<std::uint64_t>(service_.windows());
  out.history.assign(service_.history().begin(), service_.history().end());
  std::size_t room = options_.regions;
  std::size_t left = kAllLearned;
  for (const auto& one : service_.managed()) {
    const auto& process = one->target().process();
    TargetState target{process.pid,
                       process.started,
                       process.name,
                       one->share(),
                       {one->window(),
                        {},
                        one->blacklist().memory(one->window()),
                        one->slowdown().memory(),
                        one->thrash().memory(),
                        one->policy().learned()}};
    auto& learned = target.known.learned;
    if (learned.size() > std::min(kMostLearned, left)) learned.clear();
    left -= learned.size();
    for (ObjectId id = 0; id < one->target().size() && room > 0; ++id) {
      const auto region = one->memory(id);
      if (region.loads + region.stores < kLeast && region.guards.empty()) {
        continue;
      }
      target.known.regions.push_back(region);
      --room;
    }
    out.targets.push_back(std::move(target));
  }
  return out;
}

void StateKeeper::window_ended() {
  std::string trouble;
  bool busy = false;
  {
    const std::scoped_lock guard(mutex_);
    trouble = trouble_;
    busy = busy_ || waiting_;
  }
  if (!trouble.empty() && trouble != told_) {
    service_.notice("the state is not kept: " + trouble);
  }
  told_ = trouble;
  const Nanos now = kernel_.now();
  if (now < next_) return;
  if (busy) {
    ++passed_over_;
    return;
  }
  next_ = now + options_.every_ns;
  hand_over();
}

void StateKeeper::hand_over() {
  auto state = capture();
  const std::scoped_lock guard(mutex_);
  waiting_ = std::move(state);
  changed_.notify_all();
}

void StateKeeper::finish() {
  if (!thread_.joinable()) return;
  hand_over();
  {
    const std::scoped_lock guard(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void StateKeeper::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || stopping_; });
    if (!waiting_) return;
    const State state = *std::move(waiting_);
    waiting_.reset();
    busy_ = true;
    lock.unlock();
    const auto written = write_(to_bytes(state));
    lock.lock();
    busy_ = false;
    trouble_ = written ? std::string() : written.error().message;
  }
}

}  // namespace thermocline
