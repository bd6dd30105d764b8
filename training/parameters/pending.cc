#include "training/parameters/pending.h"

#include <algorithm>
#include <cmath>

namespace thermocline {

Result<SendOrder> send_order(const std::string& name) {
  if (name == "magnitude") return SendOrder::kMagnitude;
  if (name == "change") return SendOrder::kChange;
  if (name == "fifo") return SendOrder::kFifo;
  if (name == "random") return SendOrder::kRandom;
  return not_found("no order \"" + name +
                   "\"; there are: magnitude change fifo random");
}

void PendingUpdates::add(std::int64_t row, std::span<const float> delta,
                         std::span<const float> value, std::int64_t clock) {
  CHECK(delta.size() == value.size());
  const auto [at, fresh] = waiting_.try_emplace(row);
  Waiting& one = at->second;
  if (fresh) {
    one.delta.resize(delta.size(), 0.0F);
    one.clock = clock;
    one.number = added_++;
  }
  CHECK(one.delta.size() == delta.size());
  if (order_ == SendOrder::kChange) one.importance = 0;
  for (std::size_t k = 0; k < delta.size(); ++k) {
    one.delta[k] += delta[k];
    float change = delta[k];
    if (order_ == SendOrder::kChange) {
      change = one.delta[k];
    } else if (value[k] != 0) {
      change /= value[k];
    }
    one.importance += static_cast<double>(std::abs(change));
  }
}

std::vector<PendingUpdates::Update> PendingUpdates::take(std::int64_t clock,
                                                         std::size_t rows) {
  std::vector<std::map<std::int64_t, Waiting>::iterator> due;
  std::vector<std::map<std::int64_t, Waiting>::iterator> rest;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    (at->second.clock <= clock ? due : rest).push_back(at);
  }
  const std::size_t room = rows > due.size() ? rows - due.size() : 0;
  if (room > 0 && order_ == SendOrder::kRandom) {
    for (std::size_t left = rest.size(); left > 1; --left) {
      std::swap(rest[left - 1], rest[rng_() % left]);
    }
  } else if (room > 0) {
    std::stable_sort(rest.begin(), rest.end(), [this](auto a, auto b) {
      return order_ == SendOrder::kFifo
                 ? a->second.number < b->second.number
                 : a->second.importance > b->second.importance;
    });
  }
  rest.resize(std::min(room, rest.size()));
  due.insert(due.end(), rest.begin(), rest.end());
  std::vector<Update> out;
  for (const auto at : due) {
    out.push_back({at->first, std::move(at->second.delta)});
    waiting_.erase(at);
  }
  return out;
}

std::vector<PendingUpdates::Update> PendingUpdates::take_row(std::int64_t row) {
  std::vector<Update> out;
  if (const auto at = waiting_.find(row); at != waiting_.end()) {
    out.push_back({row, std::move(at->second.delta)});
    waiting_.erase(at);
  }
  return out;
}

std::span<const float> PendingUpdates::of(std::int64_t row) const {
  const auto at = waiting_.find(row);
  if (at == waiting_.end()) return {};
  return at->second.delta;
}

}  // namespace thermocline
