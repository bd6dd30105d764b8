#include "agent/ppo.h"

#include <cmath>
#include <numbers>
#include <random>

#include "agent/archive.h"
#include "agent/archive_kind.h"
#include "agent/gradient_step.h"
#include "agent/heat_weights.h"
#include "agent/learner_state.h"

namespace thermocline {
namespace {

constexpr double kWidth = 0.3;  // of what is tried, at the beginning
constexpr std::size_t kBatch = 64;
constexpr std::size_t kLongestEpisode = 4096;

// One decision.
struct Step {
  std::vector<float> context;
  std::vector<float> weights;
  float log_prob = 0;  // of the weights, under the policy that played
  float reward = 0;
  float last = 0;
  float advantage = 0;
  float worth = 0;  // what the value network should have said
};
constexpr std::size_t kStepFloats = kContext + kWeights + 5;

void put(const Step& step, std::vector<float>& out) {
  out.insert(out.end(), step.context.begin(), step.context.end());
  out.insert(out.end(), step.weights.begin(), step.weights.end());
  out.insert(out.end(), {step.log_prob, step.reward, step.last, step.advantage,
                         step.worth});
}

Step get(const float* at) {
  Step out;
  out.context.assign(at, at + kContext);
  at += kContext;
  out.weights.assign(at, at + kWeights);
  at += kWeights;
  out.log_prob = at[0];
  out.reward = at[1];
  out.last = at[2];
  out.advantage = at[3];
  out.worth = at[4];
  return out;
}

// Steps of one kind or another, row by row.
template <typename Part>
torch::Tensor stacked(const std::vector<const Step*>& steps, Part part) {
  std::vector<float> all;
  for (const Step* step : steps) {
    const auto values = part(*step);
    all.insert(all.end(), values.begin(), values.end());
  }
  const auto rows = static_cast<std::int64_t>(steps.size());
  return tensor_of(all, {rows, static_cast<std::int64_t>(all.size()) / rows});
}

// Of a normal law with independent parts, by row.
torch::Tensor log_prob_of(const torch::Tensor& x, const torch::Tensor& mean,
                          const torch::Tensor& log_width) {
  const auto z = (x - mean) * (-log_width).exp();
  const double constant = 0.5 * std::log(2 * std::numbers::pi);
  return (-0.5 * z.square() - log_width - constant).sum(1);
}

}  // namespace

struct Ppo::Impl {
  Impl(const TrainingOptions& o, std::uint64_t seed)
      : options(o),
        rng(seed),
        policy(heat_weights_network(o.hidden)),
        value(kContext, o.hidden, 1),
        log_width(torch::full({static_cast<long>(kWeights)}, std::log(kWidth))
                      .requires_grad_(true)),
        adam(parameters(), torch::optim::AdamOptions(o.learning_rate)) {}

  std::vector<torch::Tensor> parameters() {
    auto out = policy->parameters();
    for (const auto& p : value->parameters()) out.push_back(p);
    out.push_back(log_width);
    return out;
  }
  double uniform() {
    return (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53;
  }
  float normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return static_cast<float>(radius *
                              std::cos(2 * std::numbers::pi * uniform()));
  }
  void end_episode();
  double find_gradients();

  TrainingOptions options;
  std::mt19937_64 rng;
  QNetwork policy;
  QNetwork value;
  torch::Tensor log_width;
  torch::optim::Adam adam;
  GradientHook hook;
  Step trying;                // decided, its reward to come
  std::vector<Step> episode;  // so far
  std::vector<Step> rollout;  // of ended episodes, oldest first
};

Ppo::Ppo(const TrainingOptions& options, std::uint64_t seed) {
  use_one_thread();
  torch::manual_seed(seed);  // of the initial weights
  impl_ = std::make_unique<Impl>(options, seed);
}
Ppo::~Ppo() = default;

void Ppo::score(std::span<const float> features, std::vector<double>& out) {
  heat_scores(mean_weights(impl_->policy, context_of(features)), features, out);
}

void Ppo::explore(std::span<const float> features, double /*epsilon*/,
                  std::vector<double>& out) {
  Impl& me = *impl_;
  const torch::NoGradGuard no_grad;
  me.trying.context = context_of(features);
  const auto mean = mean_weights(me.policy, me.trying.context);
  const float* log_width = me.log_width.data_ptr<float>();
  me.trying.weights = mean;
  for (std::size_t k = 0; k < kWeights; ++k) {
    me.trying.weights[k] += std::exp(log_width[k]) * me.normal();
  }
  const auto row = [](const std::vector<float>& from) {
    return tensor_of(from, {1, static_cast<long>(from.size())});
  };
  me.trying.log_prob =
      log_prob_of(row(me.trying.weights), row(mean), me.log_width)
          .item<float>();
  heat_scores(me.trying.weights, features, out);
}

void Ppo::remember(Frame frame) {
  Impl& me = *impl_;
  me.trying.reward = frame.reward;
  me.trying.last = frame.last;
  me.episode.push_back(me.trying);
  if (frame.last > 0 || me.episode.size() >= kLongestEpisode) me.end_episode();
}

// Generalised advantages, from the end backwards.
void Ppo::Impl::end_episode() {
  const torch::NoGradGuard no_grad;
  std::vector<const Step*> steps;
  for (const Step& step : episode) steps.push_back(&step);
  const auto values =
      value->forward(stacked(steps, [](const Step& s) { return s.context; }))
          .contiguous();
  const float* v = values.data_ptr<float>();
  const auto gamma = static_cast<float>(options.gamma);
  const auto lambda = static_cast<float>(kLambda);
  float advantage = 0;
  for (std::size_t t = episode.size(); t-- > 0;) {
    Step& step = episode[t];
    const bool ends = step.last > 0 || t + 1 == episode.size();
    const float next = ends ? 0 : v[t + 1];
    if (ends) advantage = 0;
    // As elsewhere, a value is a mean over what comes: times (1 - gamma).
    const float error = (1 - gamma) * step.reward + gamma * next - v[t];
    advantage = error + gamma * lambda * advantage;
    step.advantage = advantage;
    step.worth = advantage + v[t];
  }
  rollout.insert(rollout.end(), episode.begin(), episode.end());
  episode.clear();
  if (rollout.size() > kRollout) {
    rollout.erase(rollout.begin(),
                  rollout.end() - static_cast<std::ptrdiff_t>(kRollout));
  }
}

// Of the loss over a batch; returns the loss.
double Ppo::Impl::find_gradients() {
  std::vector<const Step*> batch;
  for (std::size_t b = 0; b < kBatch; ++b) {
    batch.push_back(&rollout[rng() % rollout.size()]);
  }
  const auto one = [&](auto member) {
    return stacked(batch,
                   [member](const Step& s) {
                     return std::vector<float>{s.*member};
                   })
        .view(-1);
  };
  const auto context = stacked(batch, [](const Step& s) { return s.context; });
  const auto tried = stacked(batch, [](const Step& s) { return s.weights; });
  auto advantage = one(&Step::advantage);
  advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8);
  const auto ratio = (log_prob_of(tried, policy->forward(context), log_width) -
                      one(&Step::log_prob))
                         .clamp(-20, 20)
                         .exp();
  const auto gain = torch::min(ratio * advantage,
                               ratio.clamp(1 - kClip, 1 + kClip) * advantage);
  const auto missed = value->forward(context).view(-1) - one(&Step::worth);
  const auto loss = -gain.mean() + kValueLoss * missed.square().mean() -
                    kEntropy * log_width.sum();
  loss.backward();
  return loss.item<double>();
}

double Ppo::learn(double progress) {
  Impl& me = *impl_;
  const bool empty = me.rollout.empty();
  if (empty && !me.hook) return 0;
  me.adam.zero_grad();
  const double loss = empty ? 0 : me.find_gradients();
  apply_gradients(me.parameters(), me.adam, me.hook, 0.5,
                  me.options.learning_rate, progress);
  return loss;
}

std::vector<float> Ppo::weights() const { return impl_->policy->weights(); }

void Ppo::set_weights(const std::vector<float>& weights) {
  CHECK(impl_->policy->set_weights(weights));
  impl_->adam.state().clear();
}

void Ppo::reseed(std::uint64_t seed) { impl_->rng.seed(seed); }

void Ppo::set_gradient_hook(GradientHook hook) {
  impl_->hook = std::move(hook);
}

std::uint64_t Ppo::draw() { return impl_->rng(); }

Status Ppo::save(const std::string& path, const std::string& note) const {
  const Impl& me = *impl_;
  torch::serialize::OutputArchive archive;
  torch::serialize::OutputArchive critic;
  me.policy->save(archive);
  me.value->save(critic);
  archive.write("value", critic);
  archive.write("log_width", me.log_width.detach());
  put_state(archive, me.adam, me.rng, note);
  std::vector<float> all;
  for (const Step& step : me.rollout) put(step, all);
  for (const Step& step : me.episode) put(step, all);
  archive.write("steps",
                tensor_of(all, {static_cast<std::int64_t>(all.size())}));
  archive.write("ended",
                c10::IValue(static_cast<std::int64_t>(me.rollout.size())));
  return write_archive(path, kCheckpointKind, archive);
}

Result<std::string> Ppo::resume(const std::string& path) {
  Impl& me = *impl_;
  std::string note;
  auto read = read_archive(path, kCheckpointKind, [&](auto& archive) {
    note = take_state(archive, me.adam, me.rng);
    me.policy->load(archive);
    torch::serialize::InputArchive critic;
    archive.read("value", critic);
    me.value->load(critic);
    torch::Tensor log_width;
    archive.read("log_width", log_width);
    {
      const torch::NoGradGuard no_grad;
      me.log_width.copy_(log_width);
    }
    torch::Tensor all;
    archive.read("steps", all);
    c10::IValue value;
    archive.read("ended", value);
    const auto ended = static_cast<std::size_t>(value.toInt());
    const auto count = static_cast<std::size_t>(all.numel()) / kStepFloats;
    const float* at = all.data_ptr<float>();
    me.rollout.clear();
    me.episode.clear();
    for (std::size_t i = 0; i < count; ++i, at += kStepFloats) {
      (i < ended ? me.rollout : me.episode).push_back(get(at));
    }
  });
  if (!read) return read.error();
  return note;
}

}  // namespace thermocline
