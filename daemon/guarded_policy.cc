#include "daemon/guarded_policy.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

namespace thermocline {
namespace {

constexpr std::uint64_t kMostFailures = 8;

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

// Of the exception that is being handled.
std::string words() {
  std::string out = "something that is no std::exception";
  try {
    throw;
  } catch (const std::exception& thrown) {
    out = thrown.what();
  } catch (...) {
  }
  return out.empty() ? "an exception without words" : out;
}

std::vector<Move> decide_or_explain(Policy& policy, const View& view,
                                    std::string& error) {
  try {
    error.clear();
    return policy.decide(view);
  } catch (...) {
    error = words();
  }
  return {};
}

void serve(const std::shared_ptr<Desk>& desk) {
  std::unique_lock lock(desk->mutex);
  for (;;) {
    desk->changed.wait(lock, [&] { return desk->asked || desk->stop; });
    if (desk->stop) return;
    lock.unlock();
    std::string error;
    auto moves = decide_or_explain(*desk->policy, desk->view, error);
    lock.lock();
    desk->moves = std::move(moves);
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
    if (in_a_row_ < kMostFailures) {
      std::string error;
      bool late = false;
      auto moves = options_.deadline_ns > 0
                       ? ask(view, error, late)
                       : decide_or_explain(*desk_->policy, view, error);
      if (!late && error.empty()) {
        in_a_row_ = 0;
        trouble_.clear();
        return moves;
      }
      if (late) {
        trouble_ = "it did not answer in time";
      } else {
        ++thrown_;
        ++in_a_row_;
        trouble_ = "it threw: " + error;
        if (in_a_row_ == kMostFailures) trouble_ += "; it is asked no more";
      }
    }
    ++fallback_windows_;
    return fallback_->decide(view);
  }

  double heat(ObjectId object) const override {
    return ask_or_fall_back(
        [&](const Policy& policy) { return policy.heat(object); });
  }

  std::string explain(ObjectId object) const override {
    if (trouble_.empty() && present()) {
      try {
        return desk_->policy->explain(object);
      } catch (...) {
        ++thrown_;
        return "the policy threw when it was asked: " + words();
      }
    }
    return "a fallback decides, because of the policy: " + trouble_ + "; " +
           fallback_->explain(object);
  }

  std::map<std::string, std::uint64_t> counts() const override {
    std::map<std::string, std::uint64_t> out;
    if (present()) {
      try {
        out = desk_->policy->counts();
      } catch (...) {
        ++thrown_;
      }
    }
    if (thrown_ > 0) out["thrown"] = thrown_;
    if (late_ > 0) out["late_decisions"] = late_;
    if (fallback_windows_ > 0) out["guarded_windows"] = fallback_windows_;
    return out;
  }

  TierId birth_tier(std::size_t tiers) const override {
    return ask_or_fall_back(
        [&](const Policy& policy) { return policy.birth_tier(tiers); });
  }

  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    if (!present()) return std::optional<Plan>();
    try {
      return desk_->policy->plan(iteration, room);
    } catch (...) {
      ++thrown_;
      return invalid("the policy threw while it made a plan: " + words());
    }
  }

 private:
  // Whether it may be used from here: not while its thread has it.
  bool present() const {
    const std::lock_guard lock(desk_->mutex);
    return !desk_->asked;
  }

  // The fallback answers while the policy is not present, or when it throws.
  template <typename Ask>
  std::invoke_result_t<Ask, const Policy&> ask_or_fall_back(Ask ask) const {
    if (present()) {
      try {
        return ask(*desk_->policy);
      } catch (...) {
        ++thrown_;
      }
    }
    return ask(*fallback_);
  }

  std::vector<Move> ask(const View& view, std::string& error, bool& late) {
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
      return {};
    }
    error = desk_->error;
    return std::exchange(desk_->moves, {});
  }

  std::shared_ptr<Desk> desk_;
  std::unique_ptr<Policy> fallback_;
  PolicyGuardOptions options_;
  std::thread thread_;
  std::string trouble_;  // of the last window; empty: none
  std::uint64_t in_a_row_ = 0;
  mutable std::uint64_t thrown_ = 0;  // asked anything
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
