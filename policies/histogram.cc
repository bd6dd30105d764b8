// histogram: after MEMTIS (Lee and others, SOSP 2023), for any number of tiers.
//
// Bytes are counted into bins by their accesses, each bin for twice as many as
// the one before. The hot threshold follows from capacity: it is the lowest bin
// that still fits the fastest tier together with all above it. What is hot is
// promoted; what is cold makes room for it. Where the hot alone fill less than
// three quarters of the tier, the bin below the threshold is warm: it is not
// promoted, and what of it is fast makes room only when no cold is left. After
// a number of accesses all counts are halved.
//
// Defaults are those of the authors' code (htmm.h, htmm_core.c,
// htmm_migrater.c): 199 accesses a sample, halved each 2,000,000 samples, bins
// of samples per 2 MiB, threshold at least 1, promotions leave 3 % free, 2048
// MiB/s for moves. Bounded by the daemon's budget as well.
//
// Ours differs so:
// - 32 bins, where the code has 16 of which the upper are linear: a small job
//   would end with all of its memory in the last one.
// - The threshold is found anew in every window (the code: each 100,000
// samples)
//   and may fall at any time; the code lets it fall by one after cooling, for
//   its histogram is rebuilt page by page, and ours is always exact.
// - No huge page is split. That takes the kernel: from outside a page table
//   entry cannot be split, and regions may be smaller than huge pages anyway.
// - Nothing is demoted to keep the tier's last 2 % free: what a target may use
//   has room for new memory set aside already.
// - Halving also when memory grows by 10 GiB is left out; promotions go hottest
//   bin first, in the code in the order of the kernel's lists.
#include <algorithm>
#include <array>
#include <bit>

#include "policies/heat_log.h"
#include "policies/packing.h"
#include "traces/fields.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr int kBins = 32;
constexpr double kHugePage = 2 << 20;
constexpr double kWarmBelow = 0.75;  // share of the tier that the hot fill
constexpr int kLowestThreshold = 1;
// What pack() is told: what is hot puts out what is warm, but nothing hot.
constexpr int kHot = 10;  // and a little more in a higher bin
constexpr int kWarm = 1;
constexpr double kMargin = 1;

// What is hot is worth more in a higher bin; warm is only what is fast already.
THERMOCLINE_WIDE
void score_bins(std::size_t count, const std::uint8_t* bin, const TierId* tier,
                int hot, int warm, double* score) {
  for (std::size_t i = 0; i < count; ++i) {
    const int is_hot = bin[i] >= hot;
    const int is_warm = (bin[i] >= warm) & (tier[i] == 0) & (is_hot ^ 1);
    const int worth =
        (kBins * kHot + bin[i]) * is_hot + kBins * kWarm * is_warm;
    score[i] = worth * (1.0 / kBins);
  }
}

class Histogram final : public Policy {
 public:
  struct Options {
    double sample = 199;
    double cooling = 2e6;
    bool warm = true;
    double fill = 0.97;
    double rate = 2048;
    void fields(auto& f) {
      f("sample", sample, 1.0, 1e12, "accesses that one sample stands for");
      f("cooling", cooling, 1.0, 1e15,
        "samples of all objects after which all counts are halved");
      f("warm", warm, "whether the bin below the threshold may stay");
      f("fill", fill, 0.0, 1.0, "share of each tier to fill");
      f("rate", rate, 0.0, 1e9, "MiB/s that moves may use");
    }
  };
  explicit Histogram(Options options) : options_(options) {}
  static std::unique_ptr<Policy> make(Options options) {
    return std::make_unique<Histogram>(options);
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    since_cooling_ += log_.window_accesses();
    bool cooled = false;
    if (since_cooling_ >= options_.cooling * options_.sample) {
      cooled = log_.cool();
      since_cooling_ = 0;
    }
    sort_into_bins(cooled);
    if (view.tiers.empty()) return {};
    count(view);
    find_threshold(static_cast<double>(view.tiers.front().capacity) *
                   options_.fill);
    judge(view);
    View limited = view;
    const double bytes =
        options_.rate * 1048576 * static_cast<double>(view.window_ns) / 1e9;
    if (bytes < static_cast<double>(view.budget)) {
      limited.budget = static_cast<Bytes>(std::max(0.0, bytes));
    }
    return pack(limited, log_.columns(), score_, {kMargin, options_.fill});
  }

  double heat(ObjectId object) const override { return log_.heat(object); }

  std::string explain(ObjectId object) const override {
    std::string text = log_.describe(object);
    if (object >= bin_.size()) return text;
    const int bin = bin_[object];
    const char* what = bin >= hot_ ? "hot" : bin >= warm_ ? "warm" : "cold";
    return text + "; " + what + ", in bin " + std::to_string(bin) + " of " +
           std::to_string(kBins) + ", hot from bin " + std::to_string(hot_) +
           (warm_ < hot_ ? ", warm from " + std::to_string(warm_) : "");
  }

 private:
  // The bin of n samples is that of 2^(bin - 1) <= n < 2^bin; of less than one
  // it is 0. A double's exponent is its logarithm.
  static std::uint8_t bin_of(double samples) {
    const auto exponent =
        static_cast<int>(std::bit_cast<std::uint64_t>(samples) >> 52) - 1023;
    return static_cast<std::uint8_t>(
        std::min(std::max(exponent + 1, 0), kBins - 1));
  }

  // Only what was accessed or has other bytes than before may have left its
  // bin, unless all counts were halved.
  void sort_into_bins(bool all) {
    const double samples = kHugePage / options_.sample;
    if (all || bin_.size() != log_.size()) {
      log_.accesses_per_byte(score_);
      bin_.resize(score_.size());
      for (std::size_t i = 0; i < bin_.size(); ++i) {
        bin_[i] = bin_of(score_[i] * samples);
      }
      return;
    }
    const auto sort = [&](ObjectId i) {
      bin_[i] = bin_of(log_.accesses_per_byte(i) * samples);
    };
    for (const auto& one : log_.touched()) sort(one.object);
    for (const ObjectId i : log_.resized()) sort(i);
  }

  void count(const View& view) {
    // Neighbours are often of one bin and would wait for one another's sum:
    // every other object has sums of its own.
    std::array<std::array<Bytes, 2>, kBins> held{};
    const Bytes* const bytes = log_.bytes().data();
    const std::uint8_t* const bin = bin_.data();
    for (std::size_t i = 0; i < view.objects.size(); ++i) {
      held[bin[i]][i % 2] += bytes[i];
    }
    for (std::size_t b = 0; b < kBins; ++b) {
      held_[b] =
          static_cast<double>(held[b][0]) + static_cast<double>(held[b][1]);
    }
  }

  void find_threshold(double room) {
    double above = 0;
    int bin = kBins;
    while (bin > 0 &&
           above + held_[static_cast<std::size_t>(bin - 1)] <= room) {
      --bin;
      above += held_[static_cast<std::size_t>(bin)];
    }
    // Where not even the last bin fits, that one is hot, as far as it goes.
    hot_ = std::clamp(bin, kLowestThreshold, kBins - 1);
    const bool space = above < room * kWarmBelow;
    warm_ = options_.warm && space ? hot_ - 1 : hot_;
  }

  void judge(const View& view) {
    score_.resize(view.objects.size());
    score_bins(score_.size(), bin_.data(), log_.tier().data(), hot_, warm_,
               score_.data());
  }

  Options options_;
  HeatLog log_;
  double since_cooling_ = 0;
  int hot_ = kLowestThreshold;  // from this bin on
  int warm_ = kLowestThreshold;
  std::array<double, kBins> held_{};  // bytes by bin
  std::vector<std::uint8_t> bin_;     // by object
  std::vector<double> score_;
};

const Register<Policy> kEntry{
    "histogram",
    entry<Policy, Histogram>("What is hot fits the fastest tier, by a "
                             "histogram of accesses; after MEMTIS.")};

}  // namespace
}  // namespace thermocline
