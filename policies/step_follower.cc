#include "policies/step_follower.h"

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

constexpr double kLearning = 0.25;  // weight of the latest step

Bytes rounded(Bytes bytes) {
  return (bytes + Iteration::kAlignment - 1) / Iteration::kAlignment *
         Iteration::kAlignment;
}

// What tells apart the tensors that one operator uses.
struct Role {
  bool read = false;
  bool written = false;
  Bytes bytes = 0;
  auto operator<=>(const Role&) const = default;
};

bool has(std::span<const std::uint32_t> sorted, std::uint32_t t) {
  return std::binary_search(sorted.begin(), sorted.end(), t);
}

std::vector<std::uint32_t> used_by(const Iteration::Operator& op) {
  std::vector<std::uint32_t> out;
  std::set_union(op.reads.begin(), op.reads.end(), op.writes.begin(),
                 op.writes.end(), std::back_inserter(out));
  return out;
}

std::vector<ObjectId> used_by(const Operator& op) {
  std::vector<ObjectId> out = op.reads;
  out.insert(out.end(), op.writes.begin(), op.writes.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool contains(const std::vector<ObjectId>& list, ObjectId serial) {
  return std::find(list.begin(), list.end(), serial) != list.end();
}

}  // namespace

StepFollower::StepFollower(const Iteration& iteration, bool marked)
    : iteration_(iteration),
      marked_(marked),
      tolerance_(static_cast<std::size_t>(
          (1 - kAlike) * static_cast<double>(iteration.operators()))),
      bound_(iteration.tensors()),
      starts_(iteration.operators(), -1),
      at_(iteration.operators() + 1, 0) {}

void StepFollower::born(const Tensor& tensor) {
  if (tensor.bytes == 0 || alive_.size() >= kMostTensors) return;
  alive_[tensor.serial] = {tensor.serial, tensor.address, tensor.bytes};
}

void StepFollower::died(ObjectId serial) {
  alive_.erase(serial);
  const auto at = tensor_of_.find(serial);
  if (at == tensor_of_.end()) return;
  bound_[at->second] = {};
  tensor_of_.erase(at);
}

std::optional<std::uint32_t> StepFollower::find(ObjectId serial) const {
  const auto at = tensor_of_.find(serial);
  if (at == tensor_of_.end()) return {};
  return at->second;
}

std::vector<Region> StepFollower::living() const {
  std::vector<Region> out;
  for (const Live& live : bound_) {
    if (live.serial != 0)
      out.push_back({live.address, live.address + live.bytes});
  }
  std::ranges::sort(out, {}, &Region::start);
  return out;
}

bool StepFollower::same(std::size_t k, const Operator& op) const {
  const auto& wanted = iteration_.op(k);
  return wanted.phase == op.phase && wanted.name == op.name &&
         wanted.layer == op.layer;
}

bool StepFollower::same_sizes(std::size_t k, const Operator& op) const {
  std::vector<Bytes> recorded;
  for (const auto t : used_by(iteration_.op(k))) {
    recorded.push_back(iteration_.tensor(t).bytes);
  }
  std::vector<Bytes> live;
  for (const ObjectId serial : used_by(op)) {
    const auto at = alive_.find(serial);
    if (at != alive_.end()) live.push_back(rounded(at->second.bytes));
  }
  std::sort(recorded.begin(), recorded.end());
  std::sort(live.begin(), live.end());
  return recorded == live;
}

std::optional<std::size_t> StepFollower::find(const Operator& op) const {
  const auto last = std::min(iteration_.operators(), position_ + kLookAhead);
  for (std::size_t k = position_; k < last; ++k) {
    if (same(k, op)) return k;
  }
  return {};
}

std::optional<StepFollower::Ended> StepFollower::ran(const Operator& op) {
  std::optional<Ended> ended;
  const bool over =
      position_ == iteration_.operators() || !on_track_ || !plausible();
  if (!marked_ && over && same(0, op) && same_sizes(0, op)) {
    if (on_track_) ended = end(op.start);
    begin(op.start);
  }
  if (!on_track_) return ended;
  const auto k = find(op);
  if (!k) {
    ++extra_;
    ++astray_;
    // Without marks nothing else says that this is no step of that kind.
    const bool enough = extra_ > iteration_.operators();
    if (!marked_ && enough) {
      ended = end({});
      on_track_ = false;
    }
    return ended;
  }
  missing_ += *k - position_;
  astray_ += *k - position_;
  starts_[*k] = op.start;
  recognise(*k, op);
  position_ = *k + 1;
  return ended;
}

std::optional<StepFollower::Ended> StepFollower::mark(const Mark& mark) {
  if (!marked_ || !mark.name.starts_with("step")) return {};
  std::optional<Ended> ended;
  if (on_track_) {
    ended = end(mark.time);
  } else if (begun_ > 0) {
    ended = Ended{};
    ended->lost = true;
  }
  begin(mark.time);
  return ended;
}

void StepFollower::lost() { on_track_ = false; }

void StepFollower::begin(Nanos time) {
  on_track_ = true;
  begun_ = time;
  position_ = missing_ = extra_ = astray_ = 0;
  used_bytes_ = found_bytes_ = 0;
  std::fill(starts_.begin(), starts_.end(), -1);
  for (std::uint32_t t = 0; t < bound_.size(); ++t) {
    if (bound_[t].serial == 0 || iteration_.tensor(t).wraps) continue;
    tensor_of_.erase(bound_[t].serial);
    bound_[t] = {};
  }
}

StepFollower::Ended StepFollower::end(std::optional<Nanos> next) {
  const std::size_t left = iteration_.operators() - position_;
  Ended out;
  out.missing = missing_ + left;
  out.extra = extra_;
  out.found = used_bytes_ > 0 ? found_bytes_ / used_bytes_ : 0;
  if (next) out.length_ns = *next - begun_;
  out.alike = out.missing + out.extra <= tolerance_ && out.found >= kAlike;
  if (out.alike && out.length_ns > 0) learn(out.length_ns);
  return out;
}

void StepFollower::learn(Nanos length) {
  double at_least = 0;
  for (std::size_t k = 0; k < at_.size(); ++k) {
    const bool heard = k + 1 == at_.size() || starts_[k] >= 0;
    if (heard) {
      const Nanos since = k + 1 == at_.size() ? length : starts_[k] - begun_;
      const auto now = static_cast<double>(since);
      at_[k] = timed_ ? at_[k] + kLearning * (now - at_[k]) : now;
    }
    // Not heard, or threads that overlap: never before its predecessor.
    at_[k] = at_least = std::max(at_least, at_[k]);
  }
  timed_ = true;
}

Nanos StepFollower::expected(std::size_t k) const {
  CHECK(timed_ && on_track_ && k < at_.size());
  if (k < starts_.size() && starts_[k] >= 0) return starts_[k];
  Nanos from = begun_;
  double offset = 0;
  for (std::size_t p = std::min(position_, k); p-- > 0;) {
    if (starts_[p] < 0) continue;
    from = starts_[p];
    offset = at_[p];
    break;
  }
  return from + static_cast<Nanos>(std::llround(at_[k] - offset));
}

std::optional<Nanos> StepFollower::began(std::size_t k) const {
  if (!on_track_ || k >= starts_.size() || starts_[k] < 0) return {};
  return starts_[k];
}

void StepFollower::recognise(std::size_t k, const Operator& op) {
  const auto& step_op = iteration_.op(k);
  std::vector<std::pair<Role, std::uint32_t>> open;
  double wanted = 0;
  double found = 0;
  const auto live = used_by(op);
  const auto tensors = used_by(step_op);
  for (const auto t : tensors) {
    const auto bytes = iteration_.tensor(t).bytes;
    wanted += static_cast<double>(bytes);
    if (bound_[t].serial != 0 &&
        std::binary_search(live.begin(), live.end(), bound_[t].serial)) {
      found += static_cast<double>(bytes);
      continue;
    }
    open.push_back({{has(step_op.reads, t), has(step_op.writes, t), bytes}, t});
  }
  // Of equals the older one first: by serials, which rise.
  std::stable_sort(open.begin(), open.end(), [&](const auto& a, const auto& b) {
    return iteration_.tensor(a.second).serial <
           iteration_.tensor(b.second).serial;
  });
  for (const ObjectId serial : live) {
    const auto at = alive_.find(serial);
    if (at == alive_.end()) continue;
    const auto known = tensor_of_.find(serial);
    if (known != tensor_of_.end() &&
        std::binary_search(tensors.begin(), tensors.end(), known->second)) {
      continue;
    }
    const Role role{contains(op.reads, serial), contains(op.writes, serial),
                    rounded(at->second.bytes)};
    const auto match =
        std::find_if(open.begin(), open.end(),
                     [&](const auto& one) { return one.first == role; });
    if (match == open.end()) continue;
    found += static_cast<double>(role.bytes);
    bind(match->second, at->second);
    open.erase(match);
  }
  used_bytes_ += wanted;
  found_bytes_ += found;
}

void StepFollower::bind(std::uint32_t t, const Live& live) {
  if (const auto old = tensor_of_.find(live.serial); old != tensor_of_.end()) {
    bound_[old->second] = {};
  }
  if (bound_[t].serial != 0) tensor_of_.erase(bound_[t].serial);
  bound_[t] = live;
  tensor_of_[live.serial] = t;
  recognised_.push_back(t);
}

std::vector<std::uint32_t> StepFollower::recognised() {
  return std::exchange(recognised_, {});
}

}  // namespace thermocline
