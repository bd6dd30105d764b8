// The end of a gradient step, which all learners do alike. Includes torch: from
// .cc files only.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "agent/learner.h"
#include "traces/libtorch.h"

namespace thermocline {

/// Hands all gradients to `hook` in the order of `parameters`, and takes back
/// what it makes of them.
inline void share_gradients(const std::vector<torch::Tensor>& parameters,
                            const Learner::GradientHook& hook) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& p : parameters) {
    if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
    flat.push_back(p.grad().reshape(-1));
  }
  auto all = torch::cat(flat);
  hook({all.data_ptr<float>(), static_cast<std::size_t>(all.numel())});
  std::int64_t at = 0;
  for (const auto& p : parameters) {
    p.mutable_grad().copy_(all.narrow(0, at, p.numel()).view_as(p));
    at += p.numel();
  }
}

/// Shares, clips to the norm `most`, and applies; the rate falls to a tenth
/// over the training.
inline void apply_gradients(const std::vector<torch::Tensor>& parameters,
                            torch::optim::Adam& adam,
                            const Learner::GradientHook& hook, double most,
                            double learning_rate, double progress) {
  if (hook) share_gradients(parameters, hook);
  torch::nn::utils::clip_grad_norm_(parameters, most);
  static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options())
      .lr(learning_rate * (1 - 0.9 * std::clamp(progress, 0.0, 1.0)));
  adam.step();
}

inline torch::Tensor tensor_of(const std::vector<float>& from,
                               at::IntArrayRef shape) {
  return torch::from_blob(const_cast<float*>(from.data()), shape).clone();
}

}  // namespace thermocline
