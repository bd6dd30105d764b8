#include "tests/training/torch/jobs.h"

#include "traces/crc32c.h"
#include "traces/libtorch.h"

namespace thermocline {
namespace {

// Points around as many centres as there are clusters.
torch::Tensor make_data(const JobSize& size) {
  torch::manual_seed(7);
  const auto centres = 4 * torch::randn({size.width, size.features});
  const auto of = torch::randint(size.width, {size.samples});
  return centres.index_select(0, of) +
         torch::randn({size.samples, size.features});
}

torch::Tensor indices(std::span<const std::uint64_t> batch) {
  std::vector<std::int64_t> out(batch.begin(), batch.end());
  return torch::tensor(out);
}

class Mlp final : public Job {
 public:
  explicit Mlp(const JobSize& size)
      : data_(make_data(size)),
        target_(data_.pow(2).sum(1, true).sqrt()),
        model_(torch::nn::Linear(size.features, size.width),
               torch::nn::BatchNorm1d(size.width), torch::nn::ReLU(),
               torch::nn::Dropout(0.3),
               torch::nn::Linear(size.width, size.width), torch::nn::ReLU(),
               torch::nn::Linear(size.width, 1)),
        optimizer_(model_->parameters(),
                   torch::optim::AdamOptions(1e-3).amsgrad(true)),
        order_(static_cast<std::uint64_t>(size.samples), 3),
        batch_(size.batch) {}

  void add_to(TrainingState& state) override {
    state.add("model", *model_);
    state.add("optimizer", optimizer_);
    state.add("order", order_);
    state.add_rng("rng");
  }
  void step() override {
    const auto rows = indices(order_.next(batch_));
    optimizer_.zero_grad();
    const auto out = model_->forward(data_.index_select(0, rows));
    torch::mse_loss(out, target_.index_select(0, rows)).backward();
    before_update();
    optimizer_.step();
    for (auto& group : optimizer_.param_groups()) {
      auto& options = static_cast<torch::optim::AdamOptions&>(group.options());
      options.lr(options.lr() * 0.999);
    }
  }

 private:
  torch::Tensor data_, target_;
  torch::nn::Sequential model_;
  torch::optim::Adam optimizer_;
  DataOrder order_;
  std::uint64_t batch_;
};

// Mini-batch KMeans (Sculley, 2010).
class KMeans final : public Job {
 public:
  explicit KMeans(const JobSize& size)
      : data_(make_data(size)),
        centroids_(data_.slice(0, 0, size.width).clone()),
        counts_(torch::zeros({size.width})),
        order_(static_cast<std::uint64_t>(size.samples), 3),
        batch_(size.batch) {}

  void add_to(TrainingState& state) override {
    state.add("centroids", centroids_);
    state.add("counts", counts_);
    state.add("order", order_);
  }
  void step() override {
    const auto batch = data_.index_select(0, indices(order_.next(batch_)));
    const auto nearest = torch::cdist(batch, centroids_).argmin(1);
    const auto ones = torch::ones({batch.size(0)});
    const auto here = torch::zeros_like(counts_).index_add(0, nearest, ones);
    const auto sums =
        torch::zeros_like(centroids_).index_add(0, nearest, batch);
    before_update();
    counts_ += here;
    const auto rate = (1 / counts_.clamp_min(1)).unsqueeze(1);
    centroids_ += rate * (sums - here.unsqueeze(1) * centroids_);
  }

 private:
  torch::Tensor data_, centroids_, counts_;
  DataOrder order_;
  std::uint64_t batch_;
};

// Expectation maximisation with full covariances, all samples a step.
class Gmm final : public Job {
 public:
  explicit Gmm(const JobSize& size)
      : data_(make_data(size)),
        means_(data_.slice(0, 0, size.width).clone()),
        covariances_(
            torch::eye(size.features).repeat({size.width, 1, 1}).contiguous()),
        weights_(
            torch::full({size.width}, 1.0 / static_cast<double>(size.width))) {}

  void add_to(TrainingState& state) override {
    state.add("means", means_);
    state.add("covariances", covariances_);
    state.add("weights", weights_);
  }
  void step() override {
    const auto count = means_.size(0), features = means_.size(1);
    const auto lower = std::get<0>(torch::linalg_cholesky_ex(covariances_));
    const auto log_det =
        lower.diagonal(0, 1, 2).log().sum(1) + weights_.log() * -1;
    std::vector<torch::Tensor> distance;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto off = (data_ - means_[k]).t();
      distance.push_back(
          torch::linalg_solve_triangular(lower[k], off, false).pow(2).sum(0));
    }
    const auto share =
        torch::softmax(-0.5 * torch::stack(distance, 1) - log_det, 1);
    const auto total = share.sum(0).clamp_min(1e-6);
    before_update();
    means_.copy_(share.t().matmul(data_) / total.unsqueeze(1));
    for (std::int64_t k = 0; k < count; ++k) {
      const auto off = data_ - means_[k];
      covariances_[k].copy_(
          (off * share.select(1, k).unsqueeze(1)).t().matmul(off) / total[k] +
          1e-3 * torch::eye(features));
    }
    weights_.copy_(total / total.sum());
  }

 private:
  torch::Tensor data_, means_, covariances_, weights_;
};

}  // namespace

std::unique_ptr<Job> make_job(const std::string& kind, const JobSize& size) {
  torch::manual_seed(1);
  if (kind == "mlp") return std::make_unique<Mlp>(size);
  if (kind == "kmeans") return std::make_unique<KMeans>(size);
  if (kind == "gmm") return std::make_unique<Gmm>(size);
  return nullptr;
}

std::uint32_t digest(TrainingState& state) {
  const auto pieces = state.pieces();
  CHECK(pieces);
  ByteVector all;
  for (const Piece& piece : *pieces) {
    put_bytes(all, {reinterpret_cast<const std::uint8_t*>(piece.name.data()),
                    piece.name.size()});
    put_bytes(all, piece.bytes);
  }
  return crc32c(all);
}

}  // namespace thermocline
