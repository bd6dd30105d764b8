#include "training/exchange/torch_data.h"

#include <algorithm>
#include <cstring>

namespace thermocline {

StoredSample torch_sample(std::uint64_t id, std::span<const float> features,
                          std::int64_t label) {
  StoredSample out{id, {}};
  out.bytes.resize(sizeof label + features.size_bytes());
  std::memcpy(out.bytes.data(), &label, sizeof label);
  std::memcpy(out.bytes.data() + sizeof label, features.data(),
              features.size_bytes());
  return out;
}

torch::data::Example<> ExchangeDataset::get(size_t index) {
  const StoredSample& one = exchange_->samples()[index];
  std::int64_t label = 0;
  CHECK(one.bytes.size() >= sizeof label);
  std::memcpy(&label, one.bytes.data(), sizeof label);
  const std::size_t floats = (one.bytes.size() - sizeof label) / sizeof(float);
  auto features = torch::empty({static_cast<std::int64_t>(floats)});
  std::memcpy(features.data_ptr<float>(), one.bytes.data() + sizeof label,
              floats * sizeof(float));
  return {features, torch::tensor(label)};
}

torch::optional<size_t> ExchangeDataset::size() const {
  return exchange_->samples().size();
}

torch::optional<std::vector<size_t>> ExchangeSampler::next(size_t batch_size) {
  const auto& order = exchange_->order();
  exchange_->advance(at_);
  if (at_ >= order.size()) return torch::nullopt;
  const auto from = order.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ = std::min(order.size(), at_ + batch_size);
  return std::vector<size_t>(from,
                             order.begin() + static_cast<std::ptrdiff_t>(at_));
}

void ExchangeSampler::save(torch::serialize::OutputArchive& archive) const {
  archive.write("at", torch::tensor(static_cast<std::int64_t>(at_)),
                /*is_buffer=*/true);
}

void ExchangeSampler::load(torch::serialize::InputArchive& archive) {
  auto at = torch::empty(1, torch::kInt64);
  archive.read("at", at, /*is_buffer=*/true);
  at_ = static_cast<std::size_t>(at.item<std::int64_t>());
}

}  // namespace thermocline
