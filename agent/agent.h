// Agent: a trained network with its papers.
//
// What `thermocline train` writes and the policy "learned" loads. The header
// is free of torch, so that including it is cheap.
//
// Thread safety: const methods from one thread at a time (LibTorch is set to
// one thread). Ownership: movable, owns its weights.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/foretold.h"
#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Agent {
 public:
  // Where it comes from and how good it was.
  struct Info {
    std::vector<std::string> traces;     // what it was trained on
    std::string algorithm = "forecast";  // TrainingOptions::algorithm
    double payback = 5;                  // TrainingOptions::payback
    bool split = true;                   // TrainingOptions::split
    std::string options;                 // TrainingOptions as JSON
    std::uint64_t seed = 0;
    std::int64_t episodes = 0;          // trained for
    std::int64_t decisions = 0;         // the same
    std::int64_t workers = 1;           // that trained it together
    std::vector<std::string> machines;  // instead of the traces' own, too
    std::vector<double> returns;        // mean return between evaluations
    double gap_closed = 0;  // first_touch -> all_fast, whole job at half
    double held_out = 0;    // the same, on windows not trained on; 0: none
    std::string program;    // version of Thermocline
    bool operator==(const Info&) const = default;
  };

  /// Requires: weights in the order of QNetwork's layers, as many as `hidden`
  /// asks for.
  Agent(std::int64_t hidden, const std::vector<float>& weights, Info info);
  Agent(Agent&&) noexcept;
  Agent& operator=(Agent&&) noexcept;
  ~Agent();

  /// Errors: as read_archive (archive.h); kCorrupt when it was trained with
  /// other features. Each names the file and the remedy.
  static Result<Agent> load(const std::string& path);
  /// Atomic. Errors: kIo, kPermission.
  Status save(const std::string& path) const;

  /// For each row of features (N x kFeatures): what it is worth, per byte, to
  /// lie in the fastest rather than the slowest tier; in shares of a window's
  /// time that the footprint would lose at 1. Moving there, or from there, is
  /// accounted for. One batched forward: about 2,000 operations an object.
  /// Returns what all objects are foreseen to lose per decision if none is
  /// fast, in windows; -1 from an algorithm that does not foresee.
  double score(std::span<const float> features, std::vector<double>& out) const;
  /// The same of kManyObjects or more, where only the rows of `due` are others
  /// than in the last call (FeatureTracker::due()): the other objects keep what
  /// `out` and `kept` say of them.
  double score(std::span<const float> features, std::span<const ObjectId> due,
               Foretold& kept, std::vector<double>& out) const;

  const Info& info() const;
  std::vector<float> weights() const;
  /// Requires: as many as weights() has.
  void set_weights(const std::vector<float>& weights);
  /// Width of the network's layers.
  std::int64_t hidden() const;

 private:
  struct Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
