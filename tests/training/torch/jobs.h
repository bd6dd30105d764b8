// Jobs: small training jobs with all that makes one hard to resume. Those that
// the dissertation checkpointed (KMeans, GMM), and a network with dropout,
// Adam and a learning rate that changes.
//
// Their data is made from a seed. Deterministic with one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "training/torch_checkpoint.h"

namespace thermocline {

struct JobSize {
  std::int64_t samples = 2000;
  std::int64_t features = 16;
  std::int64_t width = 32;  // hidden units, or clusters
  std::uint64_t batch = 50;
};

class Job {
 public:
  virtual ~Job() = default;
  virtual void add_to(TrainingState& state) = 0;
  virtual void step() = 0;
  // Called by step() before it writes parameters or what an optimizer keeps.
  std::function<void()> before_update = [] {};
};

/// "mlp", "kmeans" or "gmm"; null for another name. Seeds LibTorch.
std::unique_ptr<Job> make_job(const std::string& kind, const JobSize& size);

/// CRC-32C over all that the job would save.
std::uint32_t digest(TrainingState& state);

}  // namespace thermocline
