#include "agent/uncovered.h"

#include <algorithm>
#include <cmath>

namespace thermocline {
namespace {

// In samples:
constexpr double kNone = 16;           // that are taken to have told of nothing
constexpr double kMemory = 512;        // of either direction are remembered
constexpr double kLikeBefore = 32;     // in which what stayed stayed the same
constexpr double kKept = 0.99;         // of them, by window
constexpr double kMost = 16;           // times that an access counts
constexpr std::int16_t kLong = 4;      // windows that a share is a mean of
constexpr std::int8_t kLooked = 2;     // windows after a move that tell
constexpr std::int16_t kCompared = 2;  // and at least so many before
constexpr std::uint64_t kTurns = 4;    // of what stays, a part a window
constexpr double kStayedKept = 0.9;    // of what is known of it, by window

}  // namespace

void Uncovered::Moved::forget(double most) {
  const double kept =
      std::min(kKept, most / std::max({slow, fast, most * kKept}));
  slow *= kept;
  fast *= kept;
}

// By octaves of samples a window, from an eighth of one on.
std::size_t Uncovered::heat_of(double before) const {
  const double samples = std::min(4096.0, std::max(0.125, before / sample_));
  return std::min(kHeats - 1,
                  static_cast<std::size_t>(std::ilogb(samples) + 3));
}

void Uncovered::look(const Seen& seen, double accesses, double all) {
  if (seen.before <= 0 && accesses <= 0) return;
  const double before = static_cast<double>(seen.before) * all;
  const bool moved = seen.trial == Trial::kMoved;
  const bool was_fast = seen.fast != moved;
  Stayed& like = stayed_[was_fast ? 1 : 0][heat_of(before)];
  if (!moved) {
    like.before += before;
    like.after += accesses;
    return;
  }
  const double none = kLikeBefore * sample_;
  const double there = before * (like.after + none) / (like.before + none);
  Moved& way = seen.fast ? up_ : down_;
  way.slow += seen.fast ? there : accesses;
  way.fast += seen.fast ? accesses : there;
}

void Uncovered::take_in(const View& view, double all) {
  seen_.resize(view.objects.size(), {.windows = kAbsent});
  for (const ObjectView& one : view.objects) {
    Seen& seen = seen_[one.id];
    if (one.bytes == 0) {
      seen = {.windows = kAbsent};
      continue;
    }
    const bool fast = one.tier == 0;
    if (seen.windows == kAbsent || fast != seen.fast) {
      // Of this window, some was before: it tells nothing.
      const bool tells = seen.windows >= kCompared;
      seen = {.before = seen.share,
              .fast = fast,
              .trial = tells ? Trial::kMoved : Trial::kNone};
      continue;
    }
    const double accesses = one.loads + one.stores;
    if (accesses > 0 && (sample_ <= 0 || accesses < sample_)) {
      sample_ = accesses;
    }
    if (seen.trial != Trial::kNone) {
      if (seen.looked >= 0) look(seen, accesses, all);
      if (++seen.looked == kLooked) seen.trial = Trial::kNone;
    }
    if (seen.windows < kLong) ++seen.windows;
    seen.share += (static_cast<float>(accesses / all) - seen.share) /
                  static_cast<float>(seen.windows);
    const bool turn = (one.id + windows_) % kTurns == 0;
    if (turn && seen.trial == Trial::kNone && seen.windows >= kCompared) {
      seen.trial = Trial::kStayed;
      seen.before = seen.share;
      seen.looked = -1;
    }
  }
}

View Uncovered::see(const View& view) {
  double all = 0;
  for (const ObjectView& one : view.objects) all += one.loads + one.stores;
  if (!(all > 0) || !std::isfinite(all)) return view;
  ++windows_;
  take_in(view, all);
  if (sample_ <= 0) return view;
  for (Moved* const moved : {&up_, &down_}) moved->forget(kMemory * sample_);
  for (auto& tier : stayed_) {
    for (Stayed& heat : tier) {
      heat.before *= kStayedKept;
      heat.after *= kStayedKept;
    }
  }
  const double none = kNone * sample_;
  times_ = std::clamp(std::min(up_.times(none), down_.times(none)), 1.0, kMost);
  if (times_ == 1) return view;
  objects_.assign(view.objects.begin(), view.objects.end());
  for (ObjectView& one : objects_) {
    if (one.tier != 0) continue;
    one.loads *= times_;
    one.stores *= times_;
    one.waited *= times_;
  }
  View out = view;
  out.objects = objects_;
  return out;
}

}  // namespace thermocline
