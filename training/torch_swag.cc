#include <algorithm>
#include <cmath>

#include "traces/libtorch.h"
#include "training/swag.h"
#include "training/torch_checkpoint.h"

namespace thermocline {

struct Swag::Moments {
  torch::Tensor first, second;
  std::int64_t updates = 0;
};

Swag::Swag(RowStore store, std::int64_t spare)
    : store_(std::move(store)),
      spare_(spare),
      moments_(std::make_unique<Moments>()) {
  CHECK(spare >= 0 && spare < store_.rows());
  moments_->first = torch::zeros({store_.width()});
  moments_->second = torch::zeros({store_.width()});
}
Swag::Swag(Swag&&) noexcept = default;
Swag::~Swag() = default;

void Swag::add_to(TrainingState& state, const std::string& name) {
  state.add(name + ".first", moments_->first);
  state.add(name + ".second", moments_->second);
  state.add(name + ".updates", moments_->updates);
}

std::int64_t Swag::updates() const { return moments_->updates; }

Status Swag::update(const torch::Tensor& parameters) {
  if (parameters.numel() != store_.width() ||
      parameters.scalar_type() != torch::kFloat32) {
    return invalid("an update has " + std::to_string(parameters.numel()) +
                   " parameters, the posterior is of " +
                   std::to_string(store_.width()) +
                   " floats; give those of one network");
  }
  const torch::NoGradGuard no_grad;
  const auto flat = parameters.detach().reshape({-1});
  const auto n = static_cast<double>(moments_->updates);
  moments_->first.mul_(n / (n + 1)).add_(flat, 1 / (n + 1));
  moments_->second.mul_(n / (n + 1)).addcmul_(flat, flat, 1 / (n + 1));
  const std::int64_t at = moments_->updates % store_.rows();
  auto column = store_.row(at);
  torch::sub_out(column, flat, moments_->first);
  if (auto ok = store_.sync(at, 1); !ok) return ok;
  store_.let_go(at, 1);
  ++moments_->updates;
  return {};
}

torch::Tensor Swag::mean() const { return moments_->first.clone(); }

torch::Tensor Swag::variance() const {
  return (moments_->second - moments_->first.square()).clamp_min(1e-30);
}

torch::Tensor Swag::sample() const {
  CHECK(updates() >= 2);
  const torch::NoGradGuard no_grad;
  const std::int64_t kept = store_.rows() - spare_;
  const std::int64_t columns = std::min(updates(), kept);
  auto out = (variance() / 2).sqrt_().mul_(torch::randn({store_.width()}));
  out += moments_->first;
  const auto z = torch::randn({columns});
  const double scale =
      1 / std::sqrt(2.0 * static_cast<double>(
                              std::max<std::int64_t>(columns - 1, 1)));
  // In an order that does not depend on where in the store they lie.
  for (std::int64_t k = 0; k < columns; ++k) {
    const std::int64_t last = updates() - 1;
    const std::int64_t update = last - (last - k) % kept;
    const std::int64_t at = update % store_.rows();
    out.add_(store_.row(at), z[k].item<double>() * scale);
    store_.let_go(at, 1);
  }
  return out;
}

}  // namespace thermocline
