// learned: what an agent trained by `thermocline train` makes of the job.
//
// Scores every object in one batched forward pass and leaves the rest to
// pack(), so that capacity and budget hold whatever the network says. Built
// into lib/thermocline_learned.so, for it brings LibTorch along; packing and
// all below it come from the program that loads the plugin.
//
// A job whose step was recorded gets a plan (plan.h), learned on that step
// itself: stay_search.h with stay_evolution.h, the replayer in the place of the
// job. The agent is not asked for it, but decides whenever the job is not what
// was planned.
//
// With option "online" it goes on learning from what this target does, beside
// the caller's thread and within a share of a core (agent/fine_tuner.h). It
// decides with the best weights judged so far.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "agent/account.h"
#include "agent/agent.h"
#include "agent/autoregression.h"
#include "agent/features.h"
#include "agent/fine_tuner.h"
#include "agent/on_paper.h"
#include "agent/uncovered.h"
#include "agent/weighed.h"
#include "policies/better_plan.h"
#include "policies/packing.h"
#include "policies/stay_search.h"
#include "policies/tier_use.h"
#include "policies/wholes.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

class Learned final : public Policy {
 public:
  struct Options {
    std::string agent;
    double hysteresis = 0.5;
    double fill = 0.98;
    double stake = Account::Options().stake;
    double drift = Account::Options().drift;
    bool measured = Account::Options().measured;
    bool uncovered = true;
    bool weighed = true;
    bool autoregression = true;
    double lend = 0.5;
    double lend_windows = 10;
    bool online = false;
    double share = 0.01;
    std::string state;
    std::int64_t plan_trials = 3000;
    double plan_seconds = 30;
    void fields(auto& f) {
      f("agent", agent, "file that thermocline train wrote");
      f("hysteresis", hysteresis, 0.0, 1000.0,
        "how much better an object must score than those it puts out");
      f("fill", fill, 0.0, 1.0, "share of each tier to fill");
      f("stake", stake, 0.0, 1e9,
        "windows' time that moves may lose before they have earned any");
      f("drift", drift, 0.0, 1.0, "share of the time since, likewise");
      f("measured", measured,
        "what moves earn is reckoned by what windows took, not as modelled");
      f("uncovered", uncovered,
        "accesses in fast memory count for those that a prefetch hides there, "
        "as far as what moves tells");
      f("weighed", weighed,
        "accesses count by what the core waited for them, where the processor "
        "tells");
      f("autoregression", autoregression,
        "what the job's own past foretells counts beside the agent's word");
      f("lend", lend, 0.0, 1.0,
        "share of what unlimited moves would have earned of late that moves "
        "may lose beyond the stake");
      f("lend_windows", lend_windows, 0.0, 1e9,
        "at most so many windows' time of it");
      f("online", online, "goes on learning while the job runs");
      f("share", share, 1e-4, 1.0, "of a core that online learning may use");
      f("state", state,
        "file in which online learning outlives the job; one for all "
        "targets, the last to learn writes it");
      f("plan_trials", plan_trials, std::int64_t{0}, std::int64_t{100'000'000},
        "steps that are replayed to learn a plan on a recorded step; 0: no "
        "plan");
      f("plan_seconds", plan_seconds, 0.01, 1e6,
        "wall clock for these; then the best plan found is taken");
    }
  };

  static Result<std::unique_ptr<Policy>> make(Options options) {
    if (options.agent.empty()) {
      return invalid(
          "option \"agent\" is missing: name the file that thermocline train "
          "wrote");
    }
    auto agent = Agent::load(options.agent);
    if (!agent) return agent.error();
    return std::unique_ptr<Policy>(
        std::make_unique<Learned>(std::move(options), *std::move(agent)));
  }

  Learned(Options options, Agent agent)
      : options_(std::move(options)),
        agent_(std::move(agent)),
        account_({options_.stake, options_.drift, options_.measured}) {}

  std::vector<Move> decide(const View& given) override {
    const View parts = apart(given);
    const View counted = options_.uncovered ? uncovered_.see(parts) : parts;
    const View view = options_.weighed ? weighed_.see(counted) : counted;
    seen_.update(view);
    if (options_.online) learn(view);
    if (options_.autoregression) past_.see(view, seen_, foretold_);
    const double foreseen =
        agent_.score(seen_.features(), seen_.due(), foretold_, score_);
    allowed_ = account_.allow(
        view, seen_, foreseen,
        paper_.lent_ns(options_.lend, options_.lend_windows, account_));
    const std::vector<Bytes> used = note(view);
    const bool home = account_.only_home() && ns_per_byte_ > 0;
    if (home) account_.scores_home(view, score_, ns_per_byte_, home_);
    auto moves = move_wholes(given, used, home);
    account_.spend(view, part_moves(given, moves));
    if (foreseen >= 0 && options_.lend > 0) {
      paper_.follow(
          view, seen_, account_, foretold_,
          [this](const View& on, std::span<const double> score, double) {
            return pack(on, score, {options_.hysteresis, options_.fill});
          });
    }
    if (home && !moves.empty()) ++undone_;
    if (account_.losing() && moves.empty() && given.budget > 0) {
      account_.settle();
    }
    for (const Move& move : moves) tier_[move.object] = move.to;
    return moves;
  }

  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    if (options_.plan_trials == 0) return std::optional<Plan>{};
    const auto decider =
        Registry<Decider>::make("decider", "rule", nlohmann::json::object());
    if (!decider) return decider.error();
    StaySearch::Options options;
    options.trials = std::min<std::size_t>(
        options.trials, static_cast<std::size_t>(options_.plan_trials));
    options.evolved =
        static_cast<std::size_t>(options_.plan_trials) - options.trials;
    options.extent_ns = kExtentNs;
    options.seconds = options_.plan_seconds;
    const Room asking = so_far_no_worse(iteration, room);
    auto out = StaySearch(iteration, asking, **decider, options).run();
    if (!out) return out.error();
    auto best = no_worse_than_first_touch(*std::move(out), iteration, room);
    if (!best) return best.error();
    return std::optional<Plan>(*std::move(best));
  }

  double heat(ObjectId object) const override {
    if (object >= score_.size()) return 0;
    return std::max(0.0, score_[object]) * ns_per_byte_ *
           static_cast<double>(bytes_[object]);
  }

  std::string explain(ObjectId object) const override {
    if (object >= score_.size()) return "the agent has not seen it yet";
    if (bytes_[object] == 0) return "it has no memory to place";
    const double score = score_[object];
    std::size_t rank = 1;
    std::size_t all = 0;
    for (std::size_t i = 0; i < score_.size(); ++i) {
      if (bytes_[i] == 0) continue;
      ++all;
      if (score_[i] > score) ++rank;
    }
    const auto& history = seen_.history(object);
    const double rate = window_s_ > 0 ? 1 / window_s_ : 0;
    std::string text =
        std::string("the agent prefers ") + (score > 0 ? "fast" : "slow") +
        " memory: advantage " + number(score * ns_per_byte_ * 1048576 / 1e6) +
        " ms per MiB and window, rank " + std::to_string(rank) + " of " +
        std::to_string(all) + "; it lies in tier " +
        std::to_string(tier_[object]) + " of " + std::to_string(tiers_);
    if (score > 0 && tier_[object] > 0) {
      text += movable_[object] != 0
                  ? ", for those ahead of it or the budget left no room"
                  : ", for it cannot be moved";
    }
    text += "; short-term " + number(history.short_loads * rate) +
            " loads/s and " + number(history.short_stores * rate) +
            " weighed stores/s, long-term " +
            number(history.long_loads * rate) + " and " +
            number(history.long_stores * rate);
    if (history.since < 0) return text + ", no access seen";
    return text + ", last access " + std::to_string(history.since) +
           " windows ago";
  }

  std::string learned() const override {
    if (tuner_) return tuner_->learned();
    return earlier_ ? earlier_->text() : std::string();
  }

  Status recall(const std::string& learned) override {
    if (!options_.online) return unsupported("it is not to learn online now");
    auto known = OnlineState::parse(learned, "what was learned");
    if (!known) return known.error();
    if (!known->began_with(agent_.weights())) {
      return corrupt("what was learned began with another agent");
    }
    earlier_ = *std::move(known);
    return {};
  }

  std::map<std::string, std::uint64_t> counts() const override {
    std::map<std::string, std::uint64_t> out{
        {"account_allows_bytes", allowed_},
        {"account_undid_windows", undone_},
        {"fast_accesses_count_percent",
         static_cast<std::uint64_t>(100 * uncovered_.times())},
        {"slow_wanted_fast_bytes", wanted_}};
    if (!tuner_) return out;
    const auto all = tuner_->counts();
    out["online_decisions"] = all.learning.decisions;
    out["online_verdicts"] = all.learning.verdicts;
    out["online_rollbacks"] = all.learning.rollbacks;
    out["online_states_refused"] = all.states_refused;
    out["online_saves_failed"] = all.saves_failed;
    return out;
  }

 private:
  // Columns of the view, and what there is in all; returns TierSums::use().
  std::vector<Bytes> note(const View& view) {
    TierSums sums(view.tiers.size());
    double footprint = 0;
    wanted_ = 0;
    bytes_.resize(score_.size());
    tier_.resize(score_.size());
    movable_.resize(score_.size());
    for (std::size_t i = 0; i < score_.size(); ++i) {
      const ObjectView& object = view.objects[i];
      if (object.bytes == 0) score_[i] = 0;
      if (score_[i] > 0 && object.tier > 0) wanted_ += object.bytes;
      footprint += static_cast<double>(object.bytes);
      bytes_[i] = object.bytes;
      tier_[i] = object.tier;
      movable_[i] = object.movable && object.bytes > 0 ? 1 : 0;
      if (object.tier < view.tiers.size()) {
        sums.add(i, object.tier, object.bytes);
      }
    }
    tiers_ = view.tiers.size();
    window_s_ = static_cast<double>(view.window_ns) / 1e9;
    ns_per_byte_ =
        footprint > 0 ? static_cast<double>(view.window_ns) / footprint : 0;
    return sums.use(view.tiers);
  }

  // Scores and columns are those of parts, and afterwards those of wholes.
  std::vector<Move> move_wholes(View view, std::span<const Bytes> used,
                                bool home) {
    join_scores(view, score_);
    if (home) join_scores(view, home_);
    if (!view.parts.empty()) {
      for (const ObjectView& one : view.objects) {
        bytes_[one.id] = one.bytes;
        movable_[one.id] = one.movable && one.bytes > 0 ? 1 : 0;
      }
    }
    if (!home) view.budget = std::min(view.budget, allowed_);
    // Untouched, fast memory would be full to the brim.
    return pack(view, {bytes_, tier_, movable_, used}, home ? home_ : score_,
                {options_.hysteresis, home ? 1 : options_.fill});
  }

  void learn(const View& view) {
    // Not before there is a target: a policy is also made to check options.
    if (!tuner_) {
      FineTuner::Options tuning;
      tuning.share = options_.share;
      tuning.state = options_.state;
      tuning.from = earlier_;
      tuning.learning.hidden = agent_.hidden();
      tuning.learning.algorithm = agent_.info().algorithm;
      tuning.learning.payback = agent_.info().payback;
      tuning.learning.split = agent_.info().split;
      const double fill = options_.fill;
      tuner_ = std::make_unique<FineTuner>(
          agent_.weights(), tuning,
          [fill](const View& seen, std::span<const double> score,
                 double hysteresis) {
            return pack(seen, score, {hysteresis, fill});
          });
    }
    tuner_->see(view);
    if (const auto verdict = tuner_->verdict()) {
      agent_.set_weights(verdict->weights);
    }
  }

  Options options_;
  Agent agent_;
  Account account_;
  Uncovered uncovered_;
  Weighed weighed_;
  FeatureTracker seen_;
  Bytes allowed_ = 0;         // by the account, in the last window
  std::uint64_t undone_ = 0;  // windows in which moves were taken back
  std::vector<double> home_;  // scores by which they are
  Bytes wanted_ = 0;          // in slow memory, and better in fast
  std::vector<double> score_;
  Foretold foretold_;
  Autoregression past_;
  OnPaper paper_;
  // Of objects, as the last decision leaves them.
  std::vector<Bytes> bytes_;
  std::vector<TierId> tier_;
  std::vector<std::uint8_t> movable_;
  std::size_t tiers_ = 0;
  double window_s_ = 0;
  double ns_per_byte_ = 0;  // a score of 1, in ns per byte and window
  std::optional<OnlineState> earlier_;  // learned in an earlier life
  std::unique_ptr<FineTuner> tuner_;
};

const Register<Policy> kEntry{
    "learned", entry<Policy, Learned>(
                   "Places objects as an agent says that was trained on "
                   "recorded runs.")};

}  // namespace
}  // namespace thermocline
