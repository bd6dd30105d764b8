#include "training/exchange/exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "traces/crc32c.h"
#include "training/exchange/plan.h"
#include "training/ranks/window_in.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 3;

// Before each payload in the landing zone. Epoch and number tell a sample that
// never came from the one that lay there before.
struct Header {
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  std::uint64_t id = 0;
  std::uint32_t bytes = 0;
  std::uint32_t crc = 0;  // of the header with crc 0, and the payload
};

std::uint32_t checksum(Header header, std::span<const std::byte> payload) {
  header.crc = 0;
  std::vector<std::uint8_t> all(sizeof header + payload.size());
  std::memcpy(all.data(), &header, sizeof header);
  if (!payload.empty()) {
    std::memcpy(all.data() + sizeof header, payload.data(), payload.size());
  }
  return crc32c(all);
}

// 8-byte aligned, since headers lie at the slots' starts.
std::size_t rounded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

Status check(const std::vector<StoredSample>& shard, std::size_t slot_bytes) {
  if (shard.empty()) {
    return invalid("this rank's shard is empty; give each rank some samples");
  }
  for (const StoredSample& one : shard) {
    if (one.bytes.size() > slot_bytes) {
      return invalid("sample " + std::to_string(one.id) + " has " +
                     std::to_string(one.bytes.size()) + " bytes and a slot " +
                     std::to_string(slot_bytes) +
                     "; raise slot_bytes, or leave it at 0");
    }
  }
  return {};
}

}  // namespace

std::size_t SampleExchange::slot() const {
  return sizeof(Header) +
         rounded(static_cast<std::size_t>(options_.slot_bytes));
}

Result<SampleExchange> SampleExchange::make(Ranks& ranks,
                                            std::vector<StoredSample> shard,
                                            const ExchangeOptions& options,
                                            std::span<std::byte> landing) {
  SampleExchange out;
  out.ranks_ = &ranks;
  out.options_ = options;
  std::size_t largest = 0;
  for (const StoredSample& one : shard) {
    largest = std::max(largest, one.bytes.size());
    out.stats_.store_bytes += static_cast<std::int64_t>(one.bytes.size());
  }
  const auto sizes = ranks.gather(static_cast<std::int64_t>(largest));
  if (!sizes) return sizes.error();
  if (options.slot_bytes == 0) {
    out.options_.slot_bytes = *std::max_element(sizes->begin(), sizes->end());
  }
  const auto counts = ranks.gather(static_cast<std::int64_t>(shard.size()));
  if (!counts) return counts.error();
  out.exchanged_ =
      exchanged(options.fraction, static_cast<std::size_t>(*std::min_element(
                                      counts->begin(), counts->end())));
  const std::size_t zone = out.exchanged_ * out.slot();
  auto wrong = check(shard, static_cast<std::size_t>(out.options_.slot_bytes));
  if (wrong && !(options.fraction >= 0 && options.fraction <= 1)) {
    wrong = invalid("fraction = " + std::to_string(options.fraction) +
                    " is outside [0, 1]");
  }
  const auto failed = ranks.gather(wrong ? 0 : 1);
  if (!failed) return failed.error();
  for (std::size_t r = 0; r < failed->size(); ++r) {
    if ((*failed)[r] == 0) continue;
    if (!wrong) return wrong.error();
    return invalid("rank " + std::to_string(r) +
                   " cannot take part in the exchange; see its message");
  }
  auto window = window_in(ranks, zone, landing);
  if (!window) return window.error().within("landing zone");
  out.window_ = *std::move(window);
  out.stats_.landing_bytes = static_cast<std::int64_t>(zone);
  out.headers_.resize(out.exchanged_ * sizeof(Header));
  out.samples_ = std::move(shard);
  return out;
}

void SampleExchange::begin(std::uint64_t epoch) {
  epoch_ = epoch;
  sent_ = 0;
  order_ = local_order(static_cast<std::uint64_t>(options_.seed), epoch,
                       ranks_->rank(), samples_.size());
}

std::vector<int> SampleExchange::destinations_of(std::size_t k) const {
  return destinations(static_cast<std::uint64_t>(options_.seed), epoch_, k,
                      ranks_->size());
}

void SampleExchange::send(std::size_t k) {
  const auto me = static_cast<std::size_t>(ranks_->rank());
  const int to = destinations_of(k)[me];
  if (to == ranks_->rank()) return;
  const StoredSample& one = samples_[order_[k]];
  Header header{epoch_, k, one.id, static_cast<std::uint32_t>(one.bytes.size()),
                0};
  header.crc = checksum(header, one.bytes);
  std::byte* at = headers_.data() + k * sizeof header;
  std::memcpy(at, &header, sizeof header);
  window_->put(to, k * slot(), {at, sizeof header});
  if (!one.bytes.empty()) {
    window_->put(to, k * slot() + sizeof header, one.bytes);
  }
  stats_.sent_bytes +=
      static_cast<std::int64_t>(sizeof header + one.bytes.size());
}

// What send(k) puts.
Bytes SampleExchange::bytes_of(std::size_t k) const {
  const auto me = static_cast<std::size_t>(ranks_->rank());
  if (destinations_of(k)[me] == ranks_->rank()) return 0;
  return sizeof(Header) + samples_[order_[k]].bytes.size();
}

bool SampleExchange::may_send(std::size_t k) {
  if (bandwidth_ == nullptr) return true;
  const Bytes bytes = bytes_of(k);
  const Bytes granted = bandwidth_->take_now(bytes);
  if (granted == bytes) return true;
  bandwidth_->give_back(granted);
  return false;
}

void SampleExchange::advance(std::size_t trained) {
  // The k-th exchanged sample is the k-th of the order; it is due once its
  // share of the epoch is over, so that the traffic is spread evenly.
  const std::size_t all = order_.size();
  const std::size_t due =
      trained >= all ? exchanged_
                     : exchanged_ * trained / std::max<std::size_t>(1, all);
  for (; sent_ < due && may_send(sent_); ++sent_) send(sent_);
}

// Whether the k-th sample lies in the zone, whole; copied if `to` is given.
bool SampleExchange::arrived(std::size_t k, StoredSample* to) const {
  const auto place = window_->local().subspan(k * slot(), slot());
  Header header;
  std::memcpy(&header, place.data(), sizeof header);
  if (header.epoch != epoch_ || header.number != k ||
      header.bytes > static_cast<std::size_t>(options_.slot_bytes)) {
    return false;
  }
  const auto payload = place.subspan(sizeof header, header.bytes);
  if (checksum(header, payload) != header.crc) return false;
  if (to != nullptr) *to = {header.id, {payload.begin(), payload.end()}};
  return true;
}

Error SampleExchange::damaged() const {
  for (std::size_t k = 0; k < exchanged_; ++k) {
    const auto to = destinations_of(k);
    const auto from = std::find(to.begin(), to.end(), ranks_->rank());
    const auto sender = static_cast<int>(from - to.begin());
    if (sender == ranks_->rank() || arrived(k, nullptr)) continue;
    return corrupt("sample " + std::to_string(k) +
                   " of the exchange of epoch " + std::to_string(epoch_) +
                   ", from rank " + std::to_string(sender) +
                   ", is damaged after " + std::to_string(kTries) +
                   " tries; see to the network or that host's memory");
  }
  return corrupt("another rank's samples stay damaged; see what it said");
}

Status SampleExchange::finish() {
  const auto from = Clock::now();
  const auto me = static_cast<std::size_t>(ranks_->rank());
  const auto send_in_turn = [this](std::size_t k) {
    if (bandwidth_ != nullptr) bandwidth_->take(bytes_of(k));
    send(k);
  };
  for (; sent_ < exchanged_; ++sent_) send_in_turn(sent_);
  std::vector<std::size_t> incoming;
  for (std::size_t k = 0; k < exchanged_; ++k) {
    if (destinations_of(k)[me] != ranks_->rank()) incoming.push_back(k);
  }
  for (int attempt = 1;; ++attempt) {
    if (auto ok = window_->flush(); !ok) return ok.error().within("exchange");
    if (auto ok = ranks_->barrier(); !ok) return ok.error().within("exchange");
    const auto bad = ranks_->gather(
        std::count_if(incoming.begin(), incoming.end(),
                      [this](std::size_t k) { return !arrived(k, nullptr); }));
    if (!bad) return bad.error().within("exchange");
    if (std::count(bad->begin(), bad->end(), 0) == ranks_->size()) break;
    if (attempt == kTries) return damaged();
    ++stats_.resent;
    for (std::size_t k = 0; k < exchanged_; ++k) send_in_turn(k);
  }
  for (const std::size_t k : incoming) {
    StoredSample& place = samples_[order_[k]];
    stats_.store_bytes -= static_cast<std::int64_t>(place.bytes.size());
    arrived(k, &place);
    stats_.store_bytes += static_cast<std::int64_t>(place.bytes.size());
  }
  ++epoch_;
  // Nobody may put into the zone of a rank that still reads it.
  auto ended = ranks_->barrier().within("exchange");
  stats_.exposed_seconds +=
      std::chrono::duration<double>(Clock::now() - from).count();
  return ended;
}

}  // namespace thermocline
