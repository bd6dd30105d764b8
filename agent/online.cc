#include "agent/online.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "agent/agent.h"
#include "agent/lesson.h"

namespace thermocline {
namespace {

// Smaller steps than offline: few objects and frames a piece, so that a piece
// takes milliseconds.
constexpr std::int64_t kFrameObjects = 64;
constexpr std::int64_t kBatchFrames = 8;
constexpr std::int64_t kReplayFrames = 256;
// A change of who decides must be worth it: moves follow.
constexpr double kMargin = 0.005;
// What learned on may be so much worse before it is rolled back.
constexpr double kPatience = 0.02;

enum Contender : std::size_t { kBase, kInCharge, kLearned, kAll };

TrainingOptions training_options(const OnlineLearner::Options& from) {
  TrainingOptions out;
  out.algorithm = from.algorithm;
  out.payback = from.payback;
  out.split = from.split;
  out.hidden = from.hidden;
  out.frame_objects = kFrameObjects;
  out.batch_frames = kBatchFrames;
  out.replay_frames = kReplayFrames;
  out.learning_rate = from.learning_rate;
  return out;
}

}  // namespace

struct OnlineLearner::Impl {
  Impl(std::vector<float> b, std::vector<float> n, const Options& o, Packer p)
      : options(o),
        packer(std::move(p)),
        recent(o.windows),
        rng(o.seed),
        base(std::move(b)),
        in_charge(std::move(n)) {}

  void fit_to_job(Episode& episode, double spread) const;
  void begin_lesson();
  void begin_judgement();
  void judge_one();
  void conclude();

  Options options;
  Packer packer;
  Recent recent;
  std::mt19937_64 rng;
  std::vector<float> base;
  std::vector<float> in_charge;
  // Both made by the first piece: LibTorch's settings are those of a thread.
  std::unique_ptr<Learner> learner;
  std::optional<Agent> judge;
  World world;  // of the lesson or the judgement; both refer to it
  std::optional<Lesson> lesson;
  int lessons = 0;  // since the last judgement
  bool news = false;
  std::size_t judging = kAll;  // the contender who is next
  std::array<double, kAll> time_ns{};
  std::optional<Verdict> verdict;
  Counts counts;
};

// The job's own room, give or take.
void OnlineLearner::Impl::fit_to_job(Episode& episode, double spread) const {
  episode.capacity = std::min(1.0, recent.capacity() * spread);
  episode.budget = std::min(1.0, recent.budget());
  episode.cold = recent.cold();
}

void OnlineLearner::Impl::begin_lesson() {
  world = recent.world();
  Episode episode = Episode::random(world, 0, world.windows.size(), rng, rng);
  fit_to_job(episode, 0.8 + 0.4 * static_cast<double>(rng() >> 11) * 0x1p-53);
  episode.keep = 1;
  lesson.emplace(world, episode, kFrameObjects, packer, *learner);
}

void OnlineLearner::Impl::begin_judgement() {
  world = recent.world();
  judging = kBase;
}

void OnlineLearner::Impl::judge_one() {
  Episode episode;
  episode.first = world.windows.size() / 2;
  fit_to_job(episode, 1);
  judge->set_weights(judging == kBase       ? base
                     : judging == kInCharge ? in_charge
                                            : learner->weights());
  const Scorer agent = [this](const FeatureTracker& seen, const View&,
                              std::vector<double>& score) {
    judge->score(seen.features(), score);
  };
  time_ns[judging] = play(world, episode, agent, packer, 0).time_ns;
  // Until something better was learned, the two are one.
  if (judging == kBase && in_charge == base) {
    time_ns[kInCharge] = time_ns[kBase];
    judging = kInCharge;
  }
  if (++judging == kAll) conclude();
}

void OnlineLearner::Impl::conclude() {
  std::size_t best = kInCharge;
  for (const auto one : {kBase, kLearned}) {
    // Written so that what is not a number never wins.
    if (time_ns[one] < time_ns[best] * (1 - kMargin)) best = one;
  }
  if (best == kLearned) in_charge = learner->weights();
  if (best == kBase) in_charge = base;
  if (!(time_ns[kLearned] <= time_ns[best] * (1 + kPatience))) {
    learner->set_weights(in_charge);
    ++counts.rollbacks;
  }
  ++counts.verdicts;
  lessons = 0;
  news = false;
  verdict = Verdict{in_charge, time_ns[best], time_ns[kBase]};
}

OnlineLearner::OnlineLearner(std::vector<float> base, std::vector<float> now,
                             const Options& options, Packer packer)
    : impl_(std::make_unique<Impl>(std::move(base), std::move(now), options,
                                   std::move(packer))) {}
OnlineLearner::~OnlineLearner() = default;

void OnlineLearner::see(SeenWindow window) {
  if (window.tiers.size() < 2) return;
  impl_->recent.add(std::move(window));
  impl_->news = true;
}

bool OnlineLearner::work() {
  Impl& me = *impl_;
  if (!me.learner) {
    const auto options = training_options(me.options);
    me.learner = make_learner(options, me.options.seed);
    me.learner->set_weights(me.in_charge);
    Agent::Info papers;
    papers.algorithm = options.algorithm;
    papers.payback = options.payback;
    papers.split = options.split;
    me.judge.emplace(options.hidden, me.base, papers);
  }
  if (me.judging != kAll) {
    me.judge_one();
    return true;
  }
  if (!me.lesson) {
    if (me.recent.windows() < me.options.fewest || !me.news) return false;
    if (me.lessons >= me.options.lessons) {
      me.begin_judgement();
      return true;
    }
    me.begin_lesson();
  }
  if (!me.lesson->done()) {
    me.lesson->step(me.options.epsilon);
    me.learner->learn(0);
    ++me.counts.decisions;
  }
  if (me.lesson->done()) {
    me.lesson.reset();
    ++me.lessons;
  }
  return true;
}

std::optional<Verdict> OnlineLearner::verdict() {
  return std::exchange(impl_->verdict, std::nullopt);
}

const OnlineLearner::Counts& OnlineLearner::counts() const {
  return impl_->counts;
}

}  // namespace thermocline
