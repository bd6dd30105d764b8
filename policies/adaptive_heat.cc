#include "policies/adaptive_heat.h"

#include <algorithm>
#include <bit>

#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr Traits kAtFirst = {1, 1, 0, 0, 0};
// What a window still counts after one more: a fifth after ten windows.
constexpr double kFade = 0.85;
// Of a mean over the windows in which an object was used.
constexpr double kNewUse = 0.3;
constexpr std::size_t kSamples = 2048;
constexpr std::size_t kPiece = 2048;
constexpr std::size_t kAges = AdaptiveHeat::kAges;
constexpr std::size_t kSizes = AdaptiveHeat::kSizes;

// 0, 1, 2 and 3 windows apart, then by powers of two. No table, for every
// object asks in every window, several at once.
constexpr std::int32_t wait_class(std::int32_t w) {
  return (w >= 1) + (w >= 2) + (w >= 3) + (w >= 4) + (w >= 8) + (w >= 16) +
         (w >= 32);
}
// `ago`: windows since the last use; `waited`: the class of the wait before it.
constexpr std::uint8_t class_of_reuse(std::int32_t ago, std::uint8_t waited) {
  constexpr auto kWaits = static_cast<std::int32_t>(kAges);
  static_assert(wait_class(1 << 30) < kWaits);
  return static_cast<std::uint8_t>(wait_class(ago) * kWaits + waited);
}

std::uint8_t power_class(std::int32_t windows) {
  const auto w = static_cast<std::uint32_t>(std::max(windows, 0));
  return static_cast<std::uint8_t>(
      std::min(static_cast<int>(std::bit_width(w)), 7));
}

// What is foretold by how long ago something was and by a class, with its
// weight.
struct ByAge {
  std::int32_t window;
  const std::array<double, kAges * kAges>& table;
};

THERMOCLINE_WIDE
void reuse_classes(std::size_t count, std::int32_t window,
                   const std::int32_t* last, const std::uint8_t* waited,
                   std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = class_of_reuse(window - last[i], waited[i]);
  }
}

// An object that was never used has 0 in `used`, so that any class will do.
void add_reuse(std::span<double> density, const ByAge& by,
               const std::int32_t* last, const std::uint8_t* waited,
               const double* used) {
  std::array<std::uint8_t, kPiece> classes;
  reuse_classes(density.size(), by.window, last, waited, classes.data());
  for (std::size_t i = 0; i < density.size(); ++i) {
    density[i] += used[i] * by.table[classes[i]];
  }
}

void add_life(std::span<double> density, const ByAge& by,
              const std::int32_t* born, const std::uint8_t* lived,
              const std::uint8_t* size,
              const std::array<double, kSizes>& by_size) {
  const double* const table = by.table.data();
  const std::int32_t window = by.window;
  for (std::size_t i = 0; i < density.size(); ++i) {
    const std::size_t at = power_class(window - born[i]) * kAges + lived[i];
    density[i] += table[at] + by_size[size[i]];
  }
}

THERMOCLINE_WIDE
void clear_absent(std::span<double> density, const std::uint8_t* size) {
  double* const out = density.data();
  for (std::size_t i = 0; i < density.size(); ++i) {
    const std::uint64_t there = size[i] > 0;
    out[i] =
        std::bit_cast<double>(std::bit_cast<std::uint64_t>(out[i]) & -there);
  }
}

}  // namespace

AdaptiveHeat::AdaptiveHeat() : fit_(kAtFirst, kFade) {}

std::uint8_t AdaptiveHeat::reuse_class(ObjectId object) const {
  // 0: never used; the class of a wait is at least 1 here.
  if (last_[object] < 0) return 0;
  return class_of_reuse(window_ - last_[object], waited_[object]);
}

std::uint8_t AdaptiveHeat::life_class(ObjectId object) const {
  return static_cast<std::uint8_t>(
      power_class(window_ - born_[object]) * kAges + lived_[object]);
}

void AdaptiveHeat::see(const View& view) {
  log_.see(view);
  log_.cool();
  ++window_;
  const std::size_t count = log_.size();
  density_.resize(count);
  used_.resize(count);
  now_.resize(count);
  last_.resize(count, -1);
  waited_.resize(count, 7);
  born_.resize(count, window_);
  lived_.resize(count);
  size_.resize(count);
  note_touched();
  learn(view);
  note_lives();
  foretell(view);
  sample(view);
}

// What was foretold a window ago, against what came.
void AdaptiveHeat::learn(const View& view) {
  for (auto* rates : {&reuse_, &life_}) {
    for (Rate& one : *rates) {
      one.sum *= kFade;
      one.of *= kFade;
    }
  }
  for (Rate& one : size_loss_) {
    one.sum *= kFade;
    one.of *= kFade;
  }
  for (const Said& one : said_) {
    if (one.object >= view.objects.size()) continue;
    const auto bytes = static_cast<double>(log_.columns().bytes[one.object]);
    if (bytes <= 0) continue;
    const double lost = last_[one.object] == window_ ? now_[one.object] : 0;
    fit_.add(one.traits, lost / bytes, bytes);
    reuse_[one.reuse].sum += lost > 0 ? 1 : 0;
    reuse_[one.reuse].of += 1;
    life_[one.life].sum += lost;
    life_[one.life].of += bytes;
    size_loss_[one.size].sum += lost;
    size_loss_[one.size].of += bytes;
  }
  if (!said_.empty()) fit_.close();
}

void AdaptiveHeat::note_touched() {
  for (const auto& one : log_.touched()) {
    const ObjectId i = one.object;
    now_[i] = loss(one.loads, one.stores);
    const double now = now_[i] * log_.per_byte()[i];
    if (last_[i] < 0) {
      used_[i] = now;
    } else {
      used_[i] += kNewUse * (now - used_[i]);
      waited_[i] = static_cast<std::uint8_t>(wait_class(window_ - last_[i]));
    }
    last_[i] = window_;
  }
}

void AdaptiveHeat::note_lives() {
  for (const ObjectId i : log_.resized()) {
    const Bytes bytes = log_.columns().bytes[i];
    const bool was = size_[i] > 0;
    size_[i] = static_cast<std::uint8_t>(
        std::min<std::size_t>(std::bit_width(bytes), kSizes - 1));
    if (was == (bytes > 0)) continue;
    if (was) {
      lived_[i] = std::max<std::uint8_t>(1, power_class(window_ - born_[i]));
    } else {
      born_[i] = window_;
    }
  }
}

Traits AdaptiveHeat::forecast(ObjectId i) const {
  const double per_byte = log_.per_byte()[i];
  if (per_byte <= 0) return {};
  return {log_.loads(i) * log_.load_ns() * per_byte,
          log_.stores(i) * log_.store_ns() * per_byte,
          used_[i] * reuse_[reuse_class(i)].value(),
          life_[life_class(i)].value(), size_loss_[size_[i]].value()};
}

void AdaptiveHeat::foretell(const View& view) {
  const Traits& weights = fit_.weights();
  const auto weight = [&](Trait trait) {
    return weights[static_cast<std::size_t>(trait)];
  };
  // Tables with their weights in, so that the pass only adds.
  std::array<double, kAges * kAges> reuse{};
  std::array<double, kAges * kAges> life{};
  std::array<double, kSizes> size{};
  for (std::size_t c = 0; c < reuse.size(); ++c) {
    reuse[c] = weight(Trait::kReuse) * reuse_[c].value();
    life[c] = weight(Trait::kLife) * life_[c].value();
  }
  for (std::size_t c = 1; c < kSizes; ++c) {
    size[c] = weight(Trait::kSize) * size_loss_[c].value();
  }
  const double load = weight(Trait::kReads) * log_.load_ns();
  const double store = weight(Trait::kWrites) * log_.store_ns();
  const std::size_t count = view.objects.size();
  const ByAge by_reuse{window_, reuse};
  const ByAge by_life{window_, life};
  const bool tables = weight(Trait::kLife) > 0 || weight(Trait::kSize) > 0;
  // Piece by piece, so that what was foretold is still at hand for the next.
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::span out(&density_[at], std::min(kPiece, count - at));
    log_.weighted(load, store, at, out);
    add_reuse(out, by_reuse, &last_[at], &waited_[at], &used_[at]);
    if (tables)
      add_life(out, by_life, &born_[at], &lived_[at], &size_[at], size);
    clear_absent(out, &size_[at]);
  }
}

// Every so many-th, beginning elsewhere each time.
void AdaptiveHeat::sample(const View& view) {
  said_.clear();
  const std::size_t step = (view.objects.size() + kSamples - 1) / kSamples;
  if (step == 0) return;
  for (std::size_t k = static_cast<std::size_t>(window_) % step;
       k < view.objects.size(); k += step) {
    const auto i = static_cast<ObjectId>(k);
    if (size_[i] == 0) continue;
    said_.push_back({i, forecast(i), reuse_class(i), life_class(i), size_[i]});
  }
}

}  // namespace thermocline
