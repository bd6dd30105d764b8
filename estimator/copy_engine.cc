#include "estimator/copy_engine.h"

#include <algorithm>

namespace thermocline {

void CopyEngine::begin(std::size_t tensor, TierId from, TierId to) {
  CHECK(!busy());
  from_ = from;
  to_ = to;
  link_ns_ = model_->copy_ns(tensor, from, to);
  limit_ns_ = from == to ? 0
                         : limit_ns_per_byte_ *
                               static_cast<double>(model_->bytes(tensor));
  left_ = link_ns_ > 0 || limit_ns_ > 0 ? 1 : 0;
}

void CopyEngine::advance(std::size_t i, std::span<const TierId> placement,
                         double ns, double& unused) {
  if (!busy() || unused <= 0) return;
  const double taken = std::max(model_->link_ns(i, placement, from_, false),
                                model_->link_ns(i, placement, to_, true));
  // Share of the copy that all of the operator's time would bring.
  double share = std::max(0.0, ns - taken) / std::max(link_ns_, 1e-300);
  if (limit_ns_ > 0) share = std::min(share, ns / limit_ns_);
  if (left_ > share * unused) {
    left_ -= share * unused;
    unused = 0;
    return;
  }
  unused -= left_ / share;
  left_ = 0;
}

double CopyEngine::finish() {
  const double ns = left_ * std::max(link_ns_, limit_ns_);
  left_ = 0;
  return ns;
}

}  // namespace thermocline
