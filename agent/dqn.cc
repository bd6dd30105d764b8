#include "agent/dqn.h"

#include <algorithm>
#include <random>

#include "agent/archive.h"
#include "agent/archive_kind.h"
#include "agent/features.h"
#include "agent/forecast.h"
#include "agent/gradient_step.h"
#include "agent/learner_state.h"
#include "agent/network.h"
#include "agent/scores.h"

namespace thermocline {
namespace {

// (N, F) with every object in one tier.
torch::Tensor lying_in(const torch::Tensor& features, Action tier) {
  auto out = features.clone();
  out.select(1, kSlowness).fill_(tier == kToSlow ? 1.0 : 0.0);
  return out;
}

// B frames of M objects each, R = B * M rows.
struct Batch {
  std::int64_t frames = 0;
  std::vector<float> before, after, gap, share, slowness;
  std::vector<float> promote, demote, go_on;  // R, alike within a frame
  std::vector<float> room;                    // B
  std::vector<float> window, next;            // R

  void add(const Frame& frame) {
    const auto m = frame.gap.size();
    const auto all = [](std::vector<float>& to, const std::vector<float>& v) {
      to.insert(to.end(), v.begin(), v.end());
    };
    all(before, frame.before);
    all(after, frame.after);
    all(gap, frame.gap);
    all(share, frame.share);
    promote.insert(promote.end(), m, frame.promote);
    demote.insert(demote.end(), m, frame.demote);
    go_on.insert(go_on.end(), m, 1.0F - frame.last);
    room.push_back(frame.room);
    window.insert(window.end(), m, frame.window);
    next.insert(next.end(), m, frame.next);
    ++frames;
  }
};

}  // namespace

struct Dqn::Impl {
  Impl(const TrainingOptions& o, std::uint64_t seed)
      : options(o),
        rng(seed),
        online(kFeatures, o.hidden),
        target(kFeatures, o.hidden),
        adam(online->parameters(), torch::optim::AdamOptions(o.learning_rate)),
        replay(static_cast<std::size_t>(o.replay_frames)) {
    if (o.forecasts()) {
      // It begins with the guess itself.
      const torch::NoGradGuard no_grad;
      for (auto& p : online->layers->ptr(4)->parameters()) p.fill_(0.0);
    }
    target->set_weights(online->weights());
  }

  double uniform() { return static_cast<double>(rng() >> 11) * 0x1p-53; }
  Batch draw_batch();
  torch::Tensor targets(const Batch& batch, const torch::Tensor& slowness);
  torch::Tensor widen(const torch::Tensor& x, const torch::Tensor& y);
  torch::Tensor price(const Batch& batch, const torch::Tensor& after);
  double find_gradients();
  double find_forecast_gradients(const Batch& batch);
  void follow();

  TrainingOptions options;
  std::mt19937_64 rng;
  QNetwork online;
  QNetwork target;
  torch::optim::Adam adam;
  Replay replay;
  GradientHook hook;
};

Dqn::Dqn(const TrainingOptions& options, std::uint64_t seed) {
  use_one_thread();
  torch::manual_seed(seed);  // of the initial weights
  impl_ = std::make_unique<Impl>(options, seed);
}
Dqn::~Dqn() = default;

void Dqn::score(std::span<const float> features, std::vector<double>& out) {
  const TrainingOptions& by = impl_->options;
  network_scores(impl_->online, {by.algorithm, by.payback, by.split}, features,
                 out);
}

void Dqn::explore(std::span<const float> features, double epsilon,
                  std::vector<double>& out) {
  score(features, out);
  for (double& one : out) {
    if (impl_->uniform() < epsilon) one = out[draw() % out.size()];
  }
}

void Dqn::remember(Frame frame) {
  if (!impl_->options.split) {
    join_stores(frame.before);
    join_stores(frame.after);
  }
  impl_->replay.add(std::move(frame));
}

std::uint64_t Dqn::draw() { return impl_->rng(); }

std::vector<float> Dqn::weights() const { return impl_->online->weights(); }

void Dqn::set_weights(const std::vector<float>& weights) {
  Impl& me = *impl_;
  CHECK(me.online->set_weights(weights) && me.target->set_weights(weights));
  me.adam.state().clear();
}

void Dqn::reseed(std::uint64_t seed) { impl_->rng.seed(seed); }

void Dqn::set_gradient_hook(GradientHook hook) {
  impl_->hook = std::move(hook);
}

Batch Dqn::Impl::draw_batch() {
  Batch out;
  for (std::int64_t b = 0; b < options.batch_frames; ++b) {
    out.add(replay[rng() % replay.size()]);
  }
  // Half of the objects learn from where they lay, half from either end.
  for (std::size_t i = 0; i < out.gap.size(); ++i) {
    const auto coin = rng() % 4;
    out.slowness.push_back(coin < 2 ? out.before[i * kFeatures + kSlowness]
                                    : static_cast<float>(coin - 2));
  }
  return out;
}

// The advantage per byte at which the next decision's fastest tier is full,
// for each row: 0 where all fits.
torch::Tensor Dqn::Impl::price(const Batch& batch, const torch::Tensor& after) {
  const auto a = advantage(online->forward(after)).view({batch.frames, -1});
  const auto [sorted, order] = a.sort(/*dim=*/1, /*descending=*/true);
  const auto shares =
      tensor_of(batch.share, a.sizes()).gather(1, order).cumsum(1);
  const auto room = tensor_of(batch.room, {batch.frames, 1});
  const auto fitting = (shares <= room).sum(1, /*keepdim=*/true);
  const auto cut = sorted.gather(1, fitting.clamp_max(a.size(1) - 1));
  return torch::where(fitting < a.size(1), cut, torch::zeros_like(cut))
      .clamp_min(0)
      .expand_as(a)
      .reshape(-1);
}

// (R, A): what each action earned, and what follows under the greedy policy.
// The online network chooses, the target network says what that is worth.
torch::Tensor Dqn::Impl::targets(const Batch& batch,
                                 const torch::Tensor& slowness) {
  const torch::NoGradGuard no_grad;
  const auto rows = static_cast<std::int64_t>(batch.gap.size());
  const auto after =
      tensor_of(batch.after, {rows, static_cast<long>(kFeatures)});
  const auto gap = tensor_of(batch.gap, {rows})
                       .clamp(-options.reward_clip, options.reward_clip);
  const auto threshold = price(batch, after);
  const auto value = [&](Action tier) {
    const auto next = lying_in(after, tier);
    const auto fast = advantage(online->forward(next)) > threshold;
    const auto q = target->forward(next);
    return torch::where(fast, q.select(1, kToFast), q.select(1, kToSlow));
  };
  const auto promote = tensor_of(batch.promote, {rows}) * slowness;
  const auto demote = tensor_of(batch.demote, {rows}) * (1 - slowness);
  const auto later = options.gamma * tensor_of(batch.go_on, {rows});
  const double now = 1 - options.gamma;
  return torch::stack({-promote * now + later * value(kToFast),
                       (-gap - demote) * now + later * value(kToSlow)},
                      1);
}

// Advantage learning (Bellemare and others, AAAI 2016, section 3.1). One
// decision later a move costs little more than now, so the gap between the
// actions is tiny beside their values, and errors of the network would hide
// it; this divides it by 1 - action_gap and changes no optimal choice.
torch::Tensor Dqn::Impl::widen(const torch::Tensor& x, const torch::Tensor& y) {
  const torch::NoGradGuard no_grad;
  const auto here = target->forward(x);
  return y - options.action_gap * (here.amax(1, /*keepdim=*/true) - here);
}

void Dqn::Impl::follow() {
  const torch::NoGradGuard no_grad;
  auto to = target->parameters();
  const auto from = online->parameters();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].lerp_(from[i], options.target_rate);
  }
}

// Of the loss over a batch; returns the loss.
double Dqn::Impl::find_gradients() {
  const Batch batch = draw_batch();
  if (options.forecasts()) return find_forecast_gradients(batch);
  const auto rows = static_cast<std::int64_t>(batch.gap.size());
  const auto slowness = tensor_of(batch.slowness, {rows});
  auto x = tensor_of(batch.before, {rows, static_cast<long>(kFeatures)});
  x.select(1, kSlowness).copy_(slowness);
  const auto y = widen(x, targets(batch, slowness));

  // Decisions hang on the difference of the two actions, most of whose noise
  // is common; so the difference has a loss of its own. Errors count relative
  // to an object's heat: the lukewarm, where the choice is close, would drown
  // in the noise of the hot. (A weight by features alone biases no mean.)
  const auto heat = x.select(1, kLongLoads) + x.select(1, kLongStores) +
                    x.select(1, kNeighbours);
  auto weight = (heat + 0.3).pow(-1.0);
  weight = weight / weight.mean();
  const auto error = online->forward(x) - y;
  const auto loss =
      (weight * (advantage(error).square() + 0.5 * error.mean(1).square()))
          .mean();
  loss.backward();
  return loss.item<double>();
}

// Temporal differences: what a step lost, and the forecast at its end. Both are
// in units of their own window. A forecast is a mean of counts, and the Poisson
// deviance has its least at that mean whatever the counts' law; unlike squares
// it lets the hottest not drown the rest.
double Dqn::Impl::find_forecast_gradients(const Batch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.gap.size());
  const auto shaped = [&](const std::vector<float>& from) {
    return tensor_of(from, {rows, static_cast<long>(kFeatures)});
  };
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    const auto later = log_forecast(target, shaped(batch.after)).exp() *
                       tensor_of(batch.next, {rows});
    const auto weight = options.gamma * tensor_of(batch.go_on, {rows});
    y = ((1 - weight) * tensor_of(batch.gap, {rows}) + weight * later) /
        tensor_of(batch.window, {rows});
  }
  const auto x = log_forecast(online, shaped(batch.before));
  const auto loss = (x.exp() - y * x).mean();
  loss.backward();
  return loss.item<double>();
}

double Dqn::learn(double progress) {
  Impl& me = *impl_;
  const bool empty = me.replay.size() == 0;
  if (empty && !me.hook) return 0;
  me.adam.zero_grad();
  const double loss = empty ? 0 : me.find_gradients();
  apply_gradients(me.online->parameters(), me.adam, me.hook, 10.0,
                  me.options.learning_rate, progress);
  me.follow();
  return loss;
}

Status Dqn::save(const std::string& path, const std::string& note) const {
  const Impl& me = *impl_;
  torch::serialize::OutputArchive archive;
  me.online->save(archive);
  torch::serialize::OutputArchive follower;
  me.target->save(follower);
  archive.write("target", follower);
  put_state(archive, me.adam, me.rng, note);
  std::vector<float> all;
  for (std::size_t i = 0; i < me.replay.size(); ++i) {
    const Frame& f = me.replay[i];
    for (const auto* part : {&f.before, &f.after, &f.gap, &f.share}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    all.insert(all.end(),
               {f.promote, f.demote, f.room, f.last, f.window, f.next});
  }
  archive.write("replay",
                tensor_of(all, {static_cast<std::int64_t>(all.size())}));
  archive.write("frames",
                c10::IValue(static_cast<std::int64_t>(me.replay.size())));
  archive.write("next",
                c10::IValue(static_cast<std::int64_t>(me.replay.next())));
  return write_archive(path, kCheckpointKind, archive);
}

Result<std::string> Dqn::resume(const std::string& path) {
  Impl& me = *impl_;
  std::string note;
  auto read = read_archive(path, kCheckpointKind, [&](auto& archive) {
    note = take_state(archive, me.adam, me.rng);
    me.online->load(archive);
    torch::serialize::InputArchive part;
    archive.read("target", part);
    me.target->load(part);
    c10::IValue value;
    archive.read("frames", value);
    const auto frames = static_cast<std::size_t>(value.toInt());
    archive.read("next", value);
    const auto next = static_cast<std::size_t>(value.toInt());
    torch::Tensor all;
    archive.read("replay", all);
    // A frame: 2 M F + 2 M + 6 numbers.
    const auto size = static_cast<std::size_t>(all.numel()) /
                      std::max<std::size_t>(frames, 1);
    const auto m = frames == 0 ? 0 : (size - 6) / (2 * kFeatures + 2);
    const float* at = all.data_ptr<float>();
    me.replay = Replay(static_cast<std::size_t>(me.options.replay_frames));
    for (std::size_t i = 0; i < frames; ++i) {
      Frame f;
      const auto take = [&](std::vector<float>& to, std::size_t n) {
        to.assign(at, at + n);
        at += n;
      };
      take(f.before, m * kFeatures);
      take(f.after, m * kFeatures);
      take(f.gap, m);
      take(f.share, m);
      f.promote = *at++;
      f.demote = *at++;
      f.room = *at++;
      f.last = *at++;
      f.window = *at++;
      f.next = *at++;
      me.replay.add(std::move(f));
    }
    me.replay.set_next(next);
  });
  if (!read) return read.error();
  return note;
}

}  // namespace thermocline
