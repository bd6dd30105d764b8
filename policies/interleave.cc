// interleave: objects spread over the tiers by weight, whatever their heat; for
// jobs that are bound by bandwidth, and the baseline of those that are not.
//
// As Linux' weighted interleave (6.9), whose weights are by bandwidth. Pages
// are born where the kernel puts them, for a launcher can bind to one tier
// only; decide() then moves what lies elsewhere, within the budget. Each object
// has its own place in the row of tiers, by its number (steps of the golden
// ratio, so that neighbours lie apart and any run of them has every tier's
// share): as memory comes and goes, hardly anything else moves. A tier that
// cannot hold its share is filled, and the others share the rest. Up to 2 % of
// a share are left where they are (`tolerance`, our choice: Linux moves nothing
// afterwards). Fast memory that would hold all of it is left empty by weight,
// too, so that alone it is never as fast as all_fast.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "policies/admission.h"
#include "policies/heat_log.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr double kGoldenStep = 0.618033988749894848;

// "4,1" or "4:1": numbers of at least 0, not all 0.
Result<std::vector<double>> parse_weights(const std::string& text) {
  std::vector<double> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    double one = 0;
    const auto read = std::from_chars(at, end, one, std::chars_format::fixed);
    const bool more = read.ptr != end && (*read.ptr == ',' || *read.ptr == ':');
    const bool whole = read.ptr == end || (more && read.ptr + 1 != end);
    if (read.ec != std::errc{} || !whole || !(one >= 0 && one <= 1e9)) {
      return invalid("option \"weights\": \"" + text +
                     "\" is not a list of numbers, one a tier, as in \"4,1\"");
    }
    out.push_back(one);
    at = more ? read.ptr + 1 : end;
  }
  if (!out.empty() && std::accumulate(out.begin(), out.end(), 0.0) <= 0) {
    return invalid("option \"weights\": one of them must be more than 0");
  }
  return out;
}

class Interleave final : public Policy {
 public:
  struct Options {
    std::string weights;
    double tolerance = 0.02;
    void fields(auto& f) {
      f("weights", weights,
        "a number for each tier, fastest first, as in \"4,1\"; empty: by "
        "their read bandwidth");
      f("tolerance", tolerance, 0.0, 1.0,
        "by how much of all memory a tier's share must change to be followed");
    }
  };
  static Result<std::unique_ptr<Policy>> make(Options options) {
    auto weights = parse_weights(options.weights);
    if (!weights) return weights.error();
    return std::unique_ptr<Policy>(
        std::make_unique<Interleave>(options.tolerance, *std::move(weights)));
  }
  Interleave(double tolerance, std::vector<double> weights)
      : tolerance_(tolerance), given_(std::move(weights)) {}

  std::vector<Move> decide(const View& view) override {
    log_.see(view);
    log_.cool();
    if (view.tiers.size() < 2) return {};
    follow(shares(view));
    return moves(view);
  }

  double heat(ObjectId object) const override { return log_.heat(object); }

  std::string explain(ObjectId object) const override {
    std::string text = log_.describe(object);
    if (ends_.empty()) return text + "; objects are spread by weight";
    text += "; objects are spread by weight, and this one belongs to tier " +
            std::to_string(home(object)) + " (shares";
    double before = 0;
    for (const double end : ends_) {
      text += " " + std::to_string(std::lround((end - before) * 100)) + " %";
      before = end;
    }
    return text + ")";
  }

 private:
  double weight(const View& view, std::size_t tier) const {
    if (!given_.empty()) return tier < given_.size() ? given_[tier] : 0;
    for (const TierView& one : view.tiers) {
      if (one.read_bytes_per_s <= 0) return 1;  // not all known: all alike
    }
    return view.tiers[tier].read_bytes_per_s;
  }

  // What part of all bytes each tier is to hold: the last takes what is over.
  std::vector<double> shares(const View& view) const {
    const auto& bytes = log_.bytes();
    double left = 0;
    for (std::size_t i = 0; i < view.objects.size(); ++i) {
      left += static_cast<double>(bytes[i]);
    }
    const std::size_t tiers = view.tiers.size();
    std::vector<double> out(tiers, 0);
    if (left <= 0) return out;
    const double all = left;
    std::vector<bool> full(tiers, false);
    for (bool again = true; again;) {
      again = false;
      double weights = 0;
      for (std::size_t t = 0; t < tiers; ++t) {
        if (!full[t]) weights += weight(view, t);
      }
      for (std::size_t t = 0; t + 1 < tiers && !again; ++t) {
        const double room = static_cast<double>(view.tiers[t].capacity);
        const double part = weights > 0 ? left * weight(view, t) / weights : 0;
        if (full[t] || part <= room) continue;
        full[t] = again = true;
        out[t] = room / all;
        left -= room;
      }
      for (std::size_t t = 0; t < tiers && !again; ++t) {
        if (!full[t] && weights > 0) {
          out[t] = left / all * weight(view, t) / weights;
        }
      }
    }
    return out;
  }

  void follow(const std::vector<double>& shares) {
    std::vector<double> ends(shares.size());
    std::partial_sum(shares.begin(), shares.end(), ends.begin());
    bool same = ends.size() == ends_.size();
    for (std::size_t t = 0; same && t < ends.size(); ++t) {
      same = std::abs(ends[t] - ends_[t]) <= tolerance_;
    }
    if (!same) {
      ends_ = std::move(ends);
      home_.clear();
    }
    for (std::size_t i = home_.size(); i < log_.size(); ++i) {
      home_.push_back(home(static_cast<ObjectId>(i)));
    }
  }

  TierId home(ObjectId object) const {
    const double turns = static_cast<double>(object) * kGoldenStep;
    const double place = turns - std::floor(turns);
    std::size_t tier = 0;
    while (tier + 1 < ends_.size() && place >= ends_[tier]) ++tier;
    return static_cast<TierId>(tier);
  }

  std::vector<Move> moves(const View& view) {
    // Which objects, first: most lie where they belong.
    const std::size_t count = view.objects.size();
    down_.resize(count + 1);
    up_.resize(count + 1);
    ObjectId* down_end = down_.data();
    ObjectId* up_end = up_.data();
    const TierId* const tier = log_.tier().data();
    const std::uint8_t* const movable = log_.movable().data();
    const Bytes* const bytes = log_.bytes().data();
    for (ObjectId i = 0; i < count; ++i) {
      const bool can = (movable[i] != 0) & (bytes[i] > 0);
      *down_end = *up_end = i;
      down_end += (can & (home_[i] > tier[i])) ? 1 : 0;
      up_end += (can & (home_[i] < tier[i])) ? 1 : 0;
    }
    const std::span<const ObjectId> down(down_.data(), down_end);
    const std::span<const ObjectId> up(up_.data(), up_end);
    std::vector<Move> out;
    Admission admission(view);
    const auto admit = [&](std::span<const ObjectId> wanted) {
      for (const ObjectId i : wanted) {
        if (admission.budget() == 0) return;
        const Move move{i, tier[i], home_[i]};
        if (admission.offer(move) == Illegal::kNo) out.push_back(move);
      }
    };
    // Half of a small budget is for what comes up.
    const Bytes for_up = up.empty() ? 0 : view.budget / 2;
    admission.set_budget(view.budget - for_up);
    admit(down);
    admission.set_budget(admission.budget() + for_up);
    admit(up);
    return out;
  }

  double tolerance_;
  std::vector<double> given_;
  HeatLog log_;
  std::vector<TierId> home_;  // by object
  std::vector<ObjectId> down_;
  std::vector<ObjectId> up_;
  std::vector<double> ends_;  // of each tier's part of the row from 0 to 1
};

const Register<Policy> kEntry{
    "interleave",
    entry<Policy, Interleave>("Spreads objects over the tiers by their "
                              "bandwidth, or by weights, whatever the heat.")};

}  // namespace
}  // namespace thermocline
