// TrainingOptions: every hyper-parameter of learning, with its range.
#pragma once

#include <cstdint>
#include <string>

namespace thermocline {

struct TrainingOptions {
  std::string algorithm = "forecast";
  std::int64_t episodes = 300;
  std::int64_t hidden = 24;
  std::int64_t batch_frames = 12;
  std::int64_t frame_objects = 128;
  std::int64_t replay_frames = 1536;
  std::int64_t evaluate_every = 16;
  std::int64_t patience = 0;
  std::int64_t windows = 100;
  std::int64_t region_kib = 256;
  double payback = 5;
  double gamma = 0.9;
  double action_gap = 0.6;
  double learning_rate = 1e-3;
  double target_rate = 0.02;
  double epsilon = 0.3;
  double epsilon_end = 0.02;
  double reward_clip = 8.0;
  double holdout = 0.25;
  std::int64_t repeat = 8;
  bool split = true;

  bool forecasts() const { return algorithm == "forecast"; }
  /// False when the algorithm is none of the three.
  bool valid() const {
    return forecasts() || algorithm == "dqn" || algorithm == "ppo";
  }

  void fields(auto& f) {
    using Int = std::int64_t;
    f("algorithm", algorithm,
      "forecast: learn what comes, and reckon; dqn: learn what acting is "
      "worth; ppo: learn the weights that make heat");
    f("payback", payback, 0.1, 1e6,
      "decisions for which the forecast holds; beyond them the object's past "
      "does (forecast)");
    f("episodes", episodes, Int{1}, Int{1000000}, "episodes to train for");
    f("hidden", hidden, Int{1}, Int{256}, "width of the two hidden layers");
    f("batch_frames", batch_frames, Int{1}, Int{1024},
      "decisions in one gradient step");
    f("frame_objects", frame_objects, Int{1}, Int{65536},
      "objects remembered of each decision");
    f("replay_frames", replay_frames, Int{1}, Int{1000000},
      "decisions in the replay buffer");
    f("evaluate_every", evaluate_every, Int{1}, Int{1000000},
      "episodes between evaluations; the best agent is kept");
    f("patience", patience, Int{0}, Int{1000000},
      "evaluations without a better agent after which to stop; 0: never");
    f("windows", windows, Int{4}, Int{10000},
      "windows that each trace is cut into; 1 to 4 make one decision");
    f("region_kib", region_kib, Int{4}, Int{1048576},
      "KiB of a region, a power of two; best what the daemon uses");
    f("gamma", gamma, 0.0, 0.999, "discount per decision");
    f("action_gap", action_gap, 0.0, 0.95,
      "share by which worse actions are made to look worse still");
    f("learning_rate", learning_rate, 1e-6, 1.0,
      "of Adam; falls to a tenth over the training");
    f("target_rate", target_rate, 1e-4, 1.0,
      "how far the target network follows at each gradient step");
    f("epsilon", epsilon, 0.0, 1.0,
      "share of objects scored at random, at the beginning");
    f("epsilon_end", epsilon_end, 0.0, 1.0, "the same at the end");
    f("reward_clip", reward_clip, 0.1, 1e6,
      "largest loss of one object in one decision, in mean window times");
    f("holdout", holdout, 0.0, 0.9,
      "share of each trace's windows, at its end, never trained on");
    f("repeat", repeat, Int{1}, Int{1000},
      "how often every other episode goes through its trace, for jobs last "
      "longer than recordings");
    f("split", split, "tell loads from stores (forecast, dqn)");
  }
};

}  // namespace thermocline
