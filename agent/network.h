// QNetwork: F features of an object to the worth of {fastest, slowest} tier; or
// other numbers to others, of the same shape between.
//
// Shared by all objects, so that any number of them fits. In a machine of two
// tiers one of the two actions is "stay" and the other "move". Includes torch:
// from .cc files only.
#pragma once

#include <dlfcn.h>

#include <vector>

#include "traces/libtorch.h"

namespace thermocline {

enum Action : int { kToFast = 0, kToSlow = 1, kActions = 2 };

struct QNetworkImpl : torch::nn::Module {
  QNetworkImpl(std::int64_t inputs, std::int64_t hidden,
               std::int64_t outputs = kActions)
      : layers(torch::nn::Linear(inputs, hidden), torch::nn::ReLU(),
               torch::nn::Linear(hidden, hidden), torch::nn::ReLU(),
               torch::nn::Linear(hidden, outputs)) {
    register_module("layers", layers);
  }
  // (N, F) -> (N, A)
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }

  std::vector<float> weights() {
    std::vector<float> out;
    for (const auto& p : parameters()) {
      const auto flat = p.detach().contiguous().view(-1);
      const auto* at = flat.data_ptr<float>();
      out.insert(out.end(), at, at + flat.numel());
    }
    return out;
  }
  /// False when there are not as many as the shape needs.
  bool set_weights(const std::vector<float>& from) {
    const torch::NoGradGuard no_grad;
    std::size_t at = 0;
    for (auto& p : parameters()) {
      const auto n = static_cast<std::size_t>(p.numel());
      if (at + n > from.size()) return false;
      std::copy_n(from.data() + at, n, p.data_ptr<float>());
      at += n;
    }
    return at == from.size();
  }

  torch::nn::Sequential layers;
};
TORCH_MODULE(QNetwork);

/// By row: the advantage of the fastest over the slowest tier.
inline torch::Tensor advantage(const torch::Tensor& q) {
  return q.select(1, kToFast) - q.select(1, kToSlow);
}

/// One thread, for the same bits everywhere and for a job's sake: the daemon
/// shares its CPUs. OpenBLAS has threads of its own, which LibTorch does not
/// govern; whichever BLAS is installed, there is no such symbol in the others.
inline void use_one_thread() {
  if (at::get_num_threads() != 1) at::set_num_threads(1);
  using SetThreads = void (*)(int);
  if (void* set = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(set)(1);
  }
}

}  // namespace thermocline
