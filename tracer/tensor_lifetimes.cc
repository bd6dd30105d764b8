#include "tracer/tensor_lifetimes.h"

#include <algorithm>

namespace thermocline {
namespace {

// Beyond these a device's name is one of the last's.
constexpr std::size_t kMaxDevices = 1024;

void add_once(std::vector<ObjectId>& serials, ObjectId serial) {
  if (std::find(serials.begin(), serials.end(), serial) == serials.end()) {
    serials.push_back(serial);
  }
}

}  // namespace

void TensorLifetimes::add(const ExecutionNode& node, Nanos now,
                          std::vector<ObjectId>& reads,
                          std::vector<ObjectId>& writes) {
  reads.clear();
  writes.clear();
  for (const auto& input : node.inputs) {
    const auto serial = use(input, Kind::kTaken, node, now).tensor.serial;
    add_once(input.written ? writes : reads, serial);
  }
  for (const auto& output : node.outputs) {
    bool among_inputs = false, written = false;
    for (const auto& input : node.inputs) {
      if (input.storage != output.storage) continue;
      among_inputs = true;
      written = written || input.written;
    }
    if (among_inputs && !written) {
      views_.insert(output.tensor);
    } else {
      views_.erase(output.tensor);  // a number that is used again
    }
    const auto kind = among_inputs ? Kind::kPassedOn : Kind::kGivenOut;
    const auto serial = use(output, kind, node, now).tensor.serial;
    if (!among_inputs) add_once(writes, serial);
  }
}

TensorLifetimes::Lifetime& TensorLifetimes::use(const TensorUse& use, Kind kind,
                                                const ExecutionNode& node,
                                                Nanos now) {
  const bool given_out = kind == Kind::kGivenOut;
  const bool view = views_.contains(use.tensor);
  const auto [at, unseen] = present_.try_emplace(use.storage, all_.size());
  bool fresh = unseen;
  if (!unseen) {
    auto& present = all_[at->second];
    const bool within =
        present.began_in >= node.id && (refined_ || !present.existed);
    const bool another = use.bytes != present.tensor.bytes && !view;
    fresh = given_out ? !within
                      : refined_ && kind == Kind::kTaken && !present.existed &&
                            another;
    if (refined_ && given_out && within && present.existed) {
      present.existed = false;
      present.tensor.born = present.seen;
    }
  }
  if (fresh) {
    at->second = all_.size();
    Lifetime one;
    one.tensor.serial = static_cast<ObjectId>(all_.size() + 1);
    one.tensor.born = given_out || !unseen ? now : 0;
    one.storage = use.storage;
    one.began_in = node.id;
    one.seen = now;
    one.device = device_number(use.device);
    one.existed = !given_out && unseen;
    all_.push_back(std::move(one));
  }
  auto& present = all_[at->second];
  if (fresh || !refined_ || !view) {
    present.tensor.bytes = std::max(present.tensor.bytes, use.bytes);
  }
  if (!present.existed) present.tensor.died = now + 1;
  return present;
}

std::uint32_t TensorLifetimes::device_number(const std::string& name) {
  const auto at = std::find(devices_.begin(), devices_.end(), name);
  auto number = static_cast<std::size_t>(at - devices_.begin());
  if (at == devices_.end()) {
    if (devices_.size() < kMaxDevices) devices_.push_back(name);
    number = devices_.size() - 1;
  }
  return static_cast<std::uint32_t>(number);
}

std::string TensorLifetimes::largest_device() const {
  std::vector<Bytes> sums(devices_.size(), 0);
  for (const auto& one : all_) {
    auto& sum = sums[one.device];
    if (__builtin_add_overflow(sum, one.tensor.bytes, &sum)) sum = UINT64_MAX;
  }
  const auto most = std::max_element(sums.begin(), sums.end());
  if (most == sums.end()) return {};
  return devices_[static_cast<std::size_t>(most - sums.begin())];
}

}  // namespace thermocline
