#include "daemon/guarded_policy.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace thermocline {
namespace {

constexpr std::uint64_t kMostFailures = 8;
// Fewer: for each of these the service waits, and whoever asks it.
constexpr std::uint64_t kMostLate = 3;

// Shared with the thread, which may outlive the policy's owner.
struct Desk {
  std::unique_ptr<Policy> policy;  // the thread's while `asked`
  std::mutex mutex;                // guards all below
  std::condition_variable changed;
  std::vector<ObjectView> objects;
  std::vector<TierView> tiers;
  View view;
  std::vector<Move> moves;
  std::string error;
  bool asked = false;
  bool stop = false;
};

// What `ask` returns; nothing when it throws, and why.
template <typename Ask>
std::optional<std::invoke_result_t<Ask>> tried(Ask ask, std::string& error) {
  error.clear();
  try {
    return ask();
  } catch (const std::exception& thrown) {
    error = thrown.what();
  } catch (...) {
    error = "something that is no std::exception";
  }
  if (error.empty()) error = "an exception without words";
  return {};
}

void serve(const std::shared_ptr<Desk>& desk) {
  std::unique_lock lock(desk->mutex);
  for (;;) {
    desk->changed.wait(lock, [&] { return desk->asked || desk->stop; });
    if (desk->stop) return;
    lock.unlock();
    std::string error;
    auto moves = tried([&] { return desk->policy->decide(desk->view); }, error);
    lock.lock();
    desk->moves = std::move(moves).value_or(std::vector<Move>());
    desk->error = std::move(error);
    desk->asked = false;
    desk->changed.notify_all();
  }
}

class GuardedPolicy final : public Policy {
 public:
  GuardedPolicy(std::unique_ptr<Policy> policy,
                std::unique_ptr<Policy> fallback, PolicyGuardOptions options)
      : desk_(std::make_shared<Desk>()),
        fallback_(std::move(fallback)),
        options_(options) {
    desk_->policy = std::move(policy);
  }

  ~GuardedPolicy() override {
    bool hung = false;
    {
      const std::lock_guard lock(desk_->mutex);
      desk_->stop = true;
      hung = desk_->asked;
    }
    desk_->changed.notify_all();
    if (!thread_.joinable()) return;
    if (hung) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  std::vector<Move> decide(const View& view) override {
    if (!given_up_) {
      std::string error;
      bool late = false;
      auto moves =
          options_.deadline_ns > 0
              ? ask(view, error, late)
              : tried([&] { return desk_->policy->decide(view); }, error);
      if (!late && error.empty()) {
        in_a_row_ = 0;
        late_in_a_row_ = 0;
        trouble_.clear();
        return *std::move(moves);
      }
      if (late) {
        trouble_ = "it did not answer in time";
      } else {
        ++thrown_;
        ++in_a_row_;
        trouble_ = "it threw: " + error;
      }
      given_up_ = in_a_row_ == kMostFailures || late_in_a_row_ == kMostLate;
      if (given_up_) trouble_ += "; it is asked no more";
    }
    ++fallback_windows_;
    return fallback_->decide(view);
  }

  double heat(ObjectId object) const override {
    const auto heat = asked([&](Policy& own) { return own.heat(object); });
    return heat ? *heat : fallback_->heat(object);
  }

  std::string explain(ObjectId object) const override {
    std::string error;
    if (trouble_.empty()) {
      auto why = asked([&](Policy& own) { return own.explain(object); }, error);
      if (why) return *std::move(why);
      if (!error.empty()) return "the policy threw when it was asked: " + error;
    }
    return "a fallback decides, because of the policy: " + trouble_ + "; " +
           fallback_->explain(object);
  }

  std::map<std::string, std::uint64_t> counts() const override {
    auto out = asked([](Policy& own) {
                 return own.counts();
               }).value_or(std::map<std::string, std::uint64_t>());
    if (thrown_ > 0) out["thrown"] = thrown_;
    if (late_ > 0) out["late_decisions"] = late_;
    if (given_up_) out["asked_no_more"] = 1;
    if (fallback_windows_ > 0) out["guarded_windows"] = fallback_windows_;
    return out;
  }

  std::string learned() const override {
    auto now = asked([](Policy& own) { return own.learned(); });
    if (now) learned_ = *std::move(now);
    return learned_;
  }

  Status recall(const std::string& learned) override {
    std::string error;
    auto out = asked([&](Policy& own) { return own.recall(learned); }, error);
    return out ? *out : invalid("the policy threw: " + error);
  }

  TierId birth_tier(std::size_t tiers) const override {
    const auto tier = asked([&](Policy& own) { return own.birth_tier(tiers); });
    return tier ? *tier : fallback_->birth_tier(tiers);
  }

  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    std::string error;
    auto plan =
        asked([&](Policy& own) { return own.plan(iteration, room); }, error);
    if (plan) return *std::move(plan);
    if (error.empty()) return std::optional<Plan>();
    return invalid("the policy threw while it made a plan: " + error);
  }

 private:
  // Whether it may be used from here: not while its thread has it.
  bool present() const {
    const std::lock_guard lock(desk_->mutex);
    return !desk_->asked;
  }

  // Nothing while its thread has the policy, or when it throws, and why.
  template <typename Ask>
  std::optional<std::invoke_result_t<Ask, Policy&>> asked(
      Ask ask, std::string& error) const {
    if (!present()) return {};
    auto out = tried([&] { return ask(*desk_->policy); }, error);
    if (!out) ++thrown_;
    return out;
  }
  template <typename Ask>
  std::optional<std::invoke_result_t<Ask, Policy&>> asked(Ask ask) const {
    std::string error;
    return asked(ask, error);
  }

  // Moves, unless it is late or `error` says why there are none.
  std::optional<std::vector<Move>> ask(const View& view, std::string& error,
                                       bool& late) {
    if (!thread_.joinable()) {
      thread_ = std::thread([desk = desk_] { serve(desk); });
    }
    std::unique_lock lock(desk_->mutex);
    late = desk_->asked;  // still, since an earlier window
    if (late) return {};
    // A copy: a late policy reads it while the loop goes on.
    desk_->objects.assign(view.objects.begin(), view.objects.end());
    desk_->tiers.assign(view.tiers.begin(), view.tiers.end());
    desk_->view = view;
    desk_->view.objects = desk_->objects;
    desk_->view.tiers = desk_->tiers;
    desk_->asked = true;
    desk_->changed.notify_all();
    late = !desk_->changed.wait_for(
        lock, std::chrono::nanoseconds(options_.deadline_ns),
        [&] { return !desk_->asked; });
    if (late) {
      ++late_;
      ++late_in_a_row_;
      return {};
    }
    error = desk_->error;
    return std::exchange(desk_->moves, {});
  }

  std::shared_ptr<Desk> desk_;
  std::unique_ptr<Policy> fallback_;
  PolicyGuardOptions options_;
  std::thread thread_;
  std::string trouble_;         // of the last window; empty: none
  std::uint64_t in_a_row_ = 0;  // thrown decisions
  std::uint64_t late_in_a_row_ = 0;
  bool given_up_ = false;
  mutable std::uint64_t thrown_ = 0;  // asked anything
  mutable std::string learned_;       // when it last could be asked
  std::uint64_t late_ = 0;
  std::uint64_t fallback_windows_ = 0;
};

}  // namespace

std::unique_ptr<Policy> guard_policy(std::unique_ptr<Policy> policy,
                                     std::unique_ptr<Policy> fallback,
                                     PolicyGuardOptions options) {
  return std::make_unique<GuardedPolicy>(std::move(policy), std::move(fallback),
                                         options);
}

}  // namespace thermocline
