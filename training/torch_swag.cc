#include <algorithm>
#include <cmath>

#include "traces/libtorch.h"
#include "training/swag.h"

namespace thermocline {

struct Swag::Moments {
  torch::Tensor first, second;
};

Swag::Swag(RowStore store)
    : store_(std::move(store)), moments_(std::make_unique<Moments>()) {
  moments_->first = torch::zeros({store_.width()});
  moments_->second = torch::zeros({store_.width()});
}
Swag::Swag(Swag&&) noexcept = default;
Swag::~Swag() = default;

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
  const auto n = static_cast<double>(updates_);
  moments_->first.mul_(n / (n + 1)).add_(flat, 1 / (n + 1));
  moments_->second.mul_(n / (n + 1)).addcmul_(flat, flat, 1 / (n + 1));
  const std::int64_t at = updates_ % store_.rows();
  auto column = store_.row(at);
  torch::sub_out(column, flat, moments_->first);
  if (auto ok = store_.sync(at, 1); !ok) return ok;
  store_.let_go(at, 1);
  ++updates_;
  return {};
}

torch::Tensor Swag::mean() const { return moments_->first.clone(); }

torch::Tensor Swag::variance() const {
  return (moments_->second - moments_->first.square()).clamp_min(1e-30);
}

torch::Tensor Swag::sample() const {
  CHECK(updates_ >= 2);
  const torch::NoGradGuard no_grad;
  const std::int64_t columns = std::min(updates_, store_.rows());
  auto out = (variance() / 2).sqrt_().mul_(torch::randn({store_.width()}));
  out += moments_->first;
  const auto z = torch::randn({columns});
  const double scale =
      1 / std::sqrt(2.0 * static_cast<double>(
                              std::max<std::int64_t>(columns - 1, 1)));
  for (std::int64_t k = 0; k < columns; ++k) {
    out.add_(store_.row(k), z[k].item<double>() * scale);
    store_.let_go(k, 1);
  }
  return out;
}

}  // namespace thermocline
