// recency_frequency: after ARMS (Yadalam and others, arXiv 2508.04417), for any
// number of tiers.
//
// Each object's accesses are averaged over a short and a long time; a weighted
// sum of both is its score. The best that fit the fastest tier are its hot set.
// One is promoted when it has been in that set for two windows and its score
// has not fallen, and when what the job gains as long as it has been hot is
// more than what the move costs, by a margin. What has to leave for it must be
// colder by both averages. When the hot set changes (policies/hot_change.h),
// recent accesses count for more. Moves take no more time than the window has.
//
// Defaults are those of the authors' code (arms_kernel.h): 1 s and 10 s;
// weights 0.4 and 0.6, after a change 0.731 and 0.269; margin 1.5; averaged
// cost of moves with alpha 2/21, divided by 1.5 in a window without moves, at
// least the copy and 0.5 ms for 2 MiB; a change needs 2 % of the slow tier's
// bandwidth (0.3 of the 15 GB/s where its latency begins to rise).
//
// Ours differs so:
// - Scores are time that the job loses, by what a load and a store lose between
//   the tiers, and compared per byte, for objects differ in size. The code
//   counts accesses, and weighs a store as one or three loads.
// - Latencies under load are not modelled: what an access loses is constant.
// - One cost serves both directions: the daemon measures calls with both.
// - An object that is not worth its move is passed over; the code stops there.
//   So do we, but only after a few hundred, for they may differ in size and
//   age.
// - What loses less than one access a window is cold.
// - The sampling period stays as it is after a change (the code halves it): a
//   policy only decides.
// - Of more than two tiers, only the fastest is chosen for. What leaves it goes
//   to the next that has room.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "estimator/access_cost.h"
#include "policies/best_fit.h"
#include "policies/heat_log.h"
#include "policies/hot_change.h"
#include "policies/swaps.h"
#include "traces/faded.h"
#include "traces/fields.h"
#include "traces/wide.h"

namespace thermocline {
namespace {

constexpr double kCostAlpha = 2.0 / 21;
constexpr double kCostDecay = 1.5;
constexpr double kHugePage = 2 << 20;
constexpr double kMoveWorkNs = 500'000;  // of a huge page, beside its copy
constexpr int kRounds = 2;
constexpr double kAssumedSlowBandwidth = 15e9;
constexpr double kSmallestUnit = 0x1p-200;

// An exponential moving average of every object's accesses, in time lost. All
// of them fade by one multiplication.
class Average {
 public:
  void fade(double alpha, std::size_t objects) {
    value_.resize(std::max(value_.size(), objects));
    keep_ *= 1 - alpha;
    if (keep_ < kSmallestUnit) rescale();
    unit_ = alpha / keep_;
  }
  void add(ObjectId object, double lost) { value_[object] += lost * unit_; }
  double operator[](ObjectId object) const { return value_[object] * keep_; }
  /// (*this)[i] is values()[i] * keep().
  const double* values() const { return value_.data(); }
  double keep() const { return keep_; }

 private:
  void rescale() {
    if (keep_ > 0) {
      for (double& one : value_) one = faded(one * keep_);
    } else {
      std::ranges::fill(value_, 0);  // an average of one window
    }
    keep_ = 1;
  }

  std::vector<double> value_;
  double keep_ = 1;
  double unit_ = 1;  // what a window's loss counts in value_
};

// Scores, whether they are at least what they were, and the same per byte. No
// branch here and below: what an object is like nobody could guess.
struct Weights {
  double keep_late = 0;  // of averages, as they have faded
  double keep_early = 0;
  double recent = 0;  // 0 to 1
  double cold = 0;    // what scores less scores nothing
};
THERMOCLINE_WIDE
void weigh(std::size_t count, const double* __restrict late,
           const double* __restrict early, const double* __restrict per_byte,
           Weights by, double* __restrict score, std::uint8_t* __restrict rose,
           double* __restrict keys) {
  for (std::size_t i = 0; i < count; ++i) {
    const double all = by.recent * (late[i] * by.keep_late) +
                       (1 - by.recent) * (early[i] * by.keep_early);
    // In bits, which are ordered as the numbers are, for none is negative.
    const std::uint64_t warm = all >= by.cold;
    const auto now = std::bit_cast<std::uint64_t>(all) & -warm;
    const auto before = std::bit_cast<std::int64_t>(score[i]);
    rose[i] =
        static_cast<std::uint8_t>(static_cast<std::int64_t>(now) >= before);
    score[i] = std::bit_cast<double>(now);
    keys[i] = std::bit_cast<double>(now) * per_byte[i];
  }
}

// Those that were not chosen begin anew.
THERMOCLINE_WIDE
void grow_older(std::size_t count, const std::uint8_t* chosen,
                const std::uint8_t* rose, std::uint16_t* age,
                std::uint8_t* ready) {
  for (std::size_t i = 0; i < count; ++i) {
    const int aged = (age[i] + (age[i] < 65535 ? 1 : 0)) * chosen[i];
    age[i] = static_cast<std::uint16_t>(aged);
    const int steady = (aged >= kRounds) & rose[i];
    ready[i] = static_cast<std::uint8_t>((aged > 0) & (ready[i] | steady));
  }
}

class RecencyFrequency final : public Policy {
 public:
  struct Options {
    double short_s = 1;
    double long_s = 10;
    double recency = 0.4;
    double recency_after_change = 0.731;
    double margin = 1.5;
    double drift = 0.5;
    double threshold = 6;
    double fill = 0.98;
    void fields(auto& f) {
      f("short_s", short_s, 1e-3, 1e6, "seconds of the short average");
      f("long_s", long_s, 1e-3, 1e6, "seconds of the long average");
      f("recency", recency, 0.0, 1.0, "weight of the short average");
      f("recency_after_change", recency_after_change, 0.0, 1.0,
        "the same after the hot set has changed");
      f("margin", margin, 0.0, 1e6,
        "how often its cost a move must gain, if the object stays as hot as "
        "long as it has been");
      f("drift", drift, 0.0, 1e6,
        "standard deviations of slow bandwidth that are no change");
      f("threshold", threshold, 0.0, 1e6,
        "standard deviations, summed up, that are a change");
      f("fill", fill, 0.0, 1.0, "share of the fastest tier to fill");
    }
  };
  explicit RecencyFrequency(Options options)
      : options_(options), change_(change_options(options)) {}
  static std::unique_ptr<Policy> make(Options options) {
    return std::make_unique<RecencyFrequency>(options);
  }

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool();
    if (view.tiers.size() < 2) return {};
    learn(view);
    score_all(view);
    weigh_cost(view);
    auto moves = choose_moves(view);
    idle_ = moves.empty();
    return moves;
  }

  double heat(ObjectId object) const override { return log_.heat(object); }

  std::string explain(ObjectId object) const override {
    std::string text = log_.describe(object);
    if (object >= age_.size()) return text;
    text += "; loses " + ms(short_[object]) + " ms a window of late, " +
            ms(long_[object]) + " in the longer run";
    if (age_[object] > 0) {
      text += ", among the hottest for " + std::to_string(age_[object]) +
              " windows";
    }
    return text + (change_.changed() ? "; the hot set has changed lately" : "");
  }

 private:
  static HotChange::Options change_options(const Options& options) {
    HotChange::Options out;
    out.drift = options.drift;
    out.threshold = options.threshold;
    return out;
  }
  static std::string ms(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", ns / 1e6);
    return text;
  }

  static double alpha(double seconds, Nanos window_ns) {
    const double windows = seconds * 1e9 / static_cast<double>(window_ns);
    return std::min(1.0, 2 / (windows + 1));
  }

  void learn(const View& view) {
    const std::size_t count = log_.size();
    age_.resize(count);
    ready_.resize(count);
    score_.resize(count);
    rose_.resize(count);
    keys_.resize(view.objects.size());
    const Nanos window = std::max<Nanos>(1, view.window_ns);
    short_.fade(alpha(options_.short_s, window), count);
    long_.fade(alpha(options_.long_s, window), count);
    double slow = 0;
    const TierId* const tier = log_.tier().data();
    for (const auto& one : log_.touched()) {
      const double lost =
          one.loads * log_.load_ns() + one.stores * log_.store_ns();
      short_.add(one.object, lost);
      long_.add(one.object, lost);
      if (tier[one.object] > 0) slow += one.loads + one.stores;
    }
    const double bandwidth = view.tiers.back().read_bytes_per_s;
    change_.see(slow * kLineBytes, window,
                0.02 * (bandwidth > 0 ? bandwidth : kAssumedSlowBandwidth));
  }

  // Scores, and the hot set: what of the highest score per byte fits the
  // fastest tier.
  void score_all(const View& view) {
    const double recent =
        change_.changed() ? options_.recency_after_change : options_.recency;
    const double cold = std::min(log_.load_ns(), log_.store_ns());
    const Weights by{short_.keep(), long_.keep(), recent, cold};
    weigh(view.objects.size(), short_.values(), long_.values(),
          log_.per_byte().data(), by, score_.data(), rose_.data(),
          keys_.data());
    BytesLeft all{0, room(view), room(view)};
    best_.offer(keys_, log_.columns(), 0, all);
  }

  double density(ObjectId i, double ns) const {
    return ns * log_.per_byte()[i];
  }

  void weigh_cost(const View& view) {
    const auto& fast = view.tiers.front();
    const auto& slow = view.tiers.back();
    const double copy = std::max(transfer_ns(1, slow.read_bytes_per_s),
                                 transfer_ns(1, slow.write_bytes_per_s)) +
                        transfer_ns(1, fast.read_bytes_per_s);
    const double least = copy + kMoveWorkNs / kHugePage;
    if (view.move_ns_per_byte > 0) {
      cost_ += kCostAlpha * (view.move_ns_per_byte - cost_);
    } else if (idle_) {
      cost_ /= kCostDecay;
    }
    cost_ = std::max(cost_, least);
  }

  std::vector<Move> choose_moves(const View& view) {
    const auto columns = log_.columns();
    grow_older(view.objects.size(), best_.chosen().data(), rose_.data(),
               age_.data(), ready_.data());
    mark_swaps(columns, ready_, best_.chosen(), up_marks_, down_marks_);
    best_.order().keep_highest(log_.bytes(), view.budget, kMostSwapsRefused,
                               up_marks_);
    claim(up_marks_, up_);
    const Bytes lying = columns.used.front();
    if (up_.empty() && lying <= view.tiers[0].capacity) return {};
    if (lying <= view.tiers[0].capacity) keep_leavers(view, lying);
    claim(down_marks_, down_);
    const SwapLimits limits{room(view), static_cast<double>(view.window_ns),
                            cost_};
    return swaps(view, columns, up_, down_, limits,
                 [this](const Claim& hot, std::span<const Claim> leaving) {
                   return pays(hot, leaving);
                 });
  }

  // Of those that may leave, as many as make room for what may come.
  void keep_leavers(const View& view, Bytes lying) {
    Bytes needed = lying > room(view) ? lying - room(view) : 0;
    Bytes coming = 0;
    Bytes largest = 0;
    for (const Claim& one : up_) {
      coming += one.bytes;
      largest = std::max(largest, one.bytes);
    }
    needed += std::min(coming, view.budget) + largest;
    best_.order().keep_lowest(log_.bytes(), needed, down_marks_);
  }

  void claim(const Marks& marks, std::vector<Claim>& out) const {
    out.clear();
    for_each_marked(marks, [&](ObjectId i) {
      out.push_back({density(i, score_[i]), log_.bytes()[i], i, log_.tier()[i],
                     log_.tier()[i] == 0});
    });
  }

  Bytes room(const View& view) const {
    return static_cast<Bytes>(std::min(
        static_cast<double>(view.tiers[0].capacity) * options_.fill, 9e18));
  }
  bool colder(const Claim& cold, const Claim& hot) const {
    return std::max(density(cold.id, short_[cold.id]),
                    density(cold.id, long_[cold.id])) <=
           std::min(density(hot.id, short_[hot.id]),
                    density(hot.id, long_[hot.id]));
  }
  // What a promotion gains, less what those lose that leave for it, against
  // the cost of all these moves.
  bool pays(const Claim& hot, std::span<const Claim> leaving) const {
    double gain = score_[hot.id];
    auto bytes = static_cast<double>(hot.bytes);
    for (const Claim& one : leaving) {
      if (!colder(one, hot)) return false;
      gain -= score_[one.id];
      bytes += static_cast<double>(one.bytes);
    }
    return gain * age_[hot.id] >= options_.margin * cost_ * bytes;
  }

  Options options_;
  HeatLog log_;
  HotChange change_;
  Average short_;
  Average long_;
  std::vector<double> score_;       // by object: time lost in a window
  Marks rose_;                      // or is what it was
  std::vector<std::uint16_t> age_;  // windows in the hot set
  Marks ready_;                     // to be promoted
  std::vector<double> keys_;
  BestFit best_;  // the hot set
  Marks up_marks_;
  Marks down_marks_;
  std::vector<Claim> up_;
  std::vector<Claim> down_;
  double cost_ = 0;  // of a move, ns per byte
  bool idle_ = false;
};

const Register<Policy> kEntry{
    "recency_frequency",
    entry<Policy, RecencyFrequency>(
        "The best by a short and a long average, each move weighed against "
        "its cost; after ARMS.")};

}  // namespace
}  // namespace thermocline
