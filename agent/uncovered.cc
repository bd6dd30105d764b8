#include "agent/uncovered.h"

#include <algorithm>

namespace thermocline {
namespace {

// In samples:
constexpr double kNone = 16;           // that are taken to have told of nothing
constexpr double kMemory = 512;        // of either direction are remembered
constexpr double kKept = 0.99;         // of them, by window
constexpr double kMost = 16;           // times that an access counts
constexpr std::int16_t kLong = 4;      // windows that a share is a mean of
constexpr std::int16_t kLooked = 2;    // windows after a move that tell
constexpr std::int16_t kCompared = 2;  // and at least so many before

}  // namespace

void Uncovered::Moved::forget(double most) {
  const double kept =
      std::min(kKept, most / std::max({slow, fast, most * kKept}));
  slow *= kept;
  fast *= kept;
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
      // Of this window, some was before.
      seen = {.before = seen.share,
              .fast = fast,
              .moved = seen.windows >= kCompared};
      continue;
    }
    const double accesses = one.loads + one.stores;
    if (accesses > 0 && (sample_ <= 0 || accesses < sample_)) {
      sample_ = accesses;
    }
    if (seen.windows < kLong) ++seen.windows;
    seen.share += (static_cast<float>(accesses / all) - seen.share) /
                  static_cast<float>(seen.windows);
    if (!seen.moved) continue;
    const double before = static_cast<double>(seen.before) * all;
    Moved& moved = fast ? up_ : down_;
    moved.slow += fast ? before : accesses;
    moved.fast += fast ? accesses : before;
    if (seen.windows == kLooked) seen.moved = false;
  }
}

View Uncovered::see(const View& view) {
  double all = 0;
  for (const ObjectView& one : view.objects) all += one.loads + one.stores;
  if (!(all > 0)) return view;
  take_in(view, all);
  if (sample_ <= 0) return view;
  for (Moved* const moved : {&up_, &down_}) moved->forget(kMemory * sample_);
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
