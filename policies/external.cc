// external: a program of the user's decides, at the other end of a channel.
//
// Each window it is told what has changed, and answers with moves, within a
// deadline. Every move is checked; illegal ones are dropped and counted. When
// it does not answer in time, is not there, or says nonsense, the fallback
// policy decides that window: it sees all windows, so that it knows the job. A
// program that was late is left alone for a window, then for 2, 4, ... 16, so
// that one that hangs does not hold up the daemon; it is back with its first
// answer. What is said: policies/external_words.h and daemon/API.md.
#include <algorithm>
#include <array>
#include <atomic>
#include <nlohmann/json.hpp>

#include "policies/admission.h"
#include "policies/decision_channel.h"
#include "policies/external_words.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr int kLongestRest = 16;  // windows

class External final : public Policy {
 public:
  struct Options {
    std::string endpoint;
    std::string channel = "zmq";
    std::int64_t deadline_ms = 100;
    std::int64_t objects = 8192;
    std::string fallback = "hottest_first";
    std::string fallback_options = "{}";
    void fields(auto& f) {
      f("endpoint", endpoint,
        "where the program listens, as in ipc:///run/policy.sock");
      f("channel", channel, "what it is reached by");
      f("deadline_ms", deadline_ms, std::int64_t{1}, std::int64_t{60'000},
        "time that it has to answer");
      f("objects", objects, std::int64_t{1}, std::int64_t{1'000'000},
        "changed objects that it is told of in one window at most");
      f("fallback", fallback, "the policy that decides when it does not");
      f("fallback_options", fallback_options, "that policy's options, as JSON");
    }
  };

  static Result<std::unique_ptr<Policy>> make(Options options) {
    if (options.fallback == "external") {
      return invalid("option \"fallback\" must be another policy");
    }
    const auto json =
        nlohmann::json::parse(options.fallback_options, nullptr, false);
    if (json.is_discarded()) {
      return invalid("option \"fallback_options\" is not JSON");
    }
    auto fallback =
        Registry<Policy>::make("fallback policy", options.fallback, json);
    if (!fallback) return fallback.error();
    auto channel = Registry<DecisionChannel>::make(
        "channel", options.channel, {{"endpoint", options.endpoint}});
    if (!channel) return channel.error();
    return std::unique_ptr<Policy>(std::make_unique<External>(
        std::move(options), *std::move(channel), *std::move(fallback)));
  }

  External(Options options, std::unique_ptr<DecisionChannel> channel,
           std::unique_ptr<Policy> fallback)
      : options_(std::move(options)),
        channel_(std::move(channel)),
        fallback_(std::move(fallback)),
        writer_(++sessions, static_cast<std::size_t>(options_.objects)) {}

  std::vector<Move> decide(const View& view) override {
    auto instead = fallback_->decide(view);
    window_ = view.window;
    if (resting_ > 0) {
      --resting_;
    } else if (auto wishes = ask(view); wishes) {
      auto moves = admit(view, *wishes);
      if (wishes->empty() || !moves.empty()) {
        trouble_.clear();
        ++counts_.replies;
        return moves;
      }
      ++counts_.bad_replies;
      note("none of its moves was legal");
    }
    ++counts_.fallback_windows;
    return instead;
  }

  double heat(ObjectId object) const override {
    return fallback_->heat(object);
  }

  std::string explain(ObjectId object) const override {
    std::string text = "the program at " + options_.endpoint + " decides";
    if (!trouble_.empty()) {
      text += ", but since window " + std::to_string(trouble_since_) + " " +
              options_.fallback + " does in its place: " + trouble_;
    }
    std::uint64_t dropped = 0;
    for (const auto count : dropped_) dropped += count;
    if (dropped > 0) {
      text += "; " + std::to_string(dropped) + " of its moves were dropped";
      for (std::size_t i = 1; i < kIllegals; ++i) {
        if (dropped_[i] == 0) continue;
        text += std::string(", ") + illegal_name(static_cast<Illegal>(i)) +
                " " + std::to_string(dropped_[i]);
      }
    }
    return text + "; " + fallback_->explain(object);
  }

  std::map<std::string, std::uint64_t> counts() const override {
    std::map<std::string, std::uint64_t> out = {
        {"replies", counts_.replies},
        {"unreachable", counts_.unreachable},
        {"late", counts_.late},
        {"bad_replies", counts_.bad_replies},
        {"fallback_windows", counts_.fallback_windows}};
    for (std::size_t i = 1; i < kIllegals; ++i) {
      const std::string why = illegal_name(static_cast<Illegal>(i));
      out["dropped_" + why] = dropped_[i];
    }
    return out;
  }

  TierId birth_tier(std::size_t tiers) const override {
    return fallback_->birth_tier(tiers);
  }

 private:
  struct Counts {
    std::uint64_t replies = 0;
    std::uint64_t unreachable = 0;
    std::uint64_t late = 0;
    std::uint64_t bad_replies = 0;
    std::uint64_t fallback_windows = 0;
  };

  void note(std::string what) {
    if (trouble_.empty()) trouble_since_ = window_;
    trouble_ = std::move(what);
  }

  Result<std::vector<Wish>> ask(const View& view) {
    const auto request = writer_.write(view);
    const auto reply =
        channel_->ask(request, Nanos{options_.deadline_ms} * 1'000'000);
    auto wishes = reply ? read_reply(*reply, writer_.sequence())
                        : Result<std::vector<Wish>>(reply.error());
    if (reply) rest_ = 1;
    if (wishes) return wishes;
    writer_.forget();
    if (reply) {
      ++counts_.bad_replies;
      note("its reply cannot be used: " + wishes.error().message);
    } else if (reply.error().code == Error::Code::kIo) {
      ++counts_.late;
      note(reply.error().message);
      resting_ = rest_;
      rest_ = std::min(2 * rest_, kLongestRest);
    } else {
      ++counts_.unreachable;
      note(reply.error().message);
    }
    return wishes;
  }

  std::vector<Move> admit(const View& view, const std::vector<Wish>& wishes) {
    Admission admission(view);
    std::vector<Move> out;
    for (const bool down : {true, false}) {
      for (const Wish& wish : wishes) {
        const bool known = wish.object < view.objects.size();
        const TierId lies = known ? view.objects[wish.object].tier : kNoTier;
        if ((known && wish.to > lies) != down) continue;
        Illegal why = Illegal::kUnknownObject;
        if (known) {
          const Move move{
              static_cast<ObjectId>(wish.object),
              wish.from < 0 ? lies : static_cast<TierId>(wish.from),
              static_cast<TierId>(std::min<std::uint64_t>(wish.to, kNoTier))};
          why = admission.offer(move);
          if (why == Illegal::kNo) out.push_back(move);
        }
        ++dropped_[static_cast<std::size_t>(why)];
      }
    }
    dropped_[0] = 0;
    return out;
  }

  static inline std::atomic<std::uint64_t> sessions{0};

  Options options_;
  std::unique_ptr<DecisionChannel> channel_;
  std::unique_ptr<Policy> fallback_;
  RequestWriter writer_;
  std::int64_t window_ = 0;
  int rest_ = 1;     // windows to leave it alone when it is late
  int resting_ = 0;  // of these, left
  std::string trouble_;
  std::int64_t trouble_since_ = 0;
  Counts counts_;
  std::array<std::uint64_t, kIllegals> dropped_{};  // by cause
};

const Register<Policy> kEntry{
    "external",
    entry<Policy, External>("A program of yours decides, at the other end of "
                            "a ZeroMQ socket; another policy if it fails.")};

}  // namespace
}  // namespace thermocline
