// A SampleExchange as LibTorch knows it: a dataset and a sampler.
//
//   exchange.begin(epoch);
//   auto loader = torch::data::make_data_loader(
//       ExchangeDataset(exchange).map(torch::data::transforms::Stack<>()),
//       ExchangeSampler(exchange), batch_size);
//   for (auto& batch : *loader) ...      // sends what is due as it goes
//   exchange.finish();
//
// Samples are tensors as torch_sample() packs them. Thread safety: workers = 0,
// the loader's default; the exchange must outlive both. Includes torch: from
// .cc files only.
#pragma once

#include <optional>

#include "traces/libtorch.h"
#include "training/exchange/exchange.h"

namespace thermocline {

/// Features (floats, any number) and a label, as bytes.
StoredSample torch_sample(std::uint64_t id, std::span<const float> features,
                          std::int64_t label);

class ExchangeDataset : public torch::data::Dataset<ExchangeDataset> {
 public:
  explicit ExchangeDataset(const SampleExchange& exchange)
      : exchange_(&exchange) {}
  torch::data::Example<> get(size_t index) override;
  torch::optional<size_t> size() const override;

 private:
  const SampleExchange* exchange_;
};

// Gives the epoch's order and has the exchange send in step with it. Its place
// in the epoch is saved and loaded with the job's checkpoint.
class ExchangeSampler : public torch::data::samplers::Sampler<> {
 public:
  /// `at`: samples of the epoch that were trained on before.
  explicit ExchangeSampler(SampleExchange& exchange, std::size_t at = 0)
      : exchange_(&exchange), at_(at) {}
  void reset(torch::optional<size_t> = torch::nullopt) override {}
  torch::optional<std::vector<size_t>> next(size_t batch_size) override;
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  SampleExchange* exchange_;
  std::size_t at_;
};

}  // namespace thermocline
