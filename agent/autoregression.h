// Autoregression: what a job's own past foretells of its next windows.
//
// No network knows a job before it has seen some of it: how long its phases
// last, how far it gets through an array in a window, whether what was used
// lately will be used soon. That can be learned while the job runs. What an
// object will lose in slow memory is taken to be a sum: of what the network
// foretells of it, what it lost in this window, lately, for longer and on
// average, and what its neighbours in the address space lost in this window,
// those behind it and those ahead (a sweep that comes will have passed them).
// How much each counts is a least-squares fit over the job so far, forgetting:
// a space-time autoregression (Pfeifer and Deutsch, Technometrics 22, 1980)
// whose lags are kBins. A ridge holds it to the network, which alone counts at
// first (Hoerl and Kennard, Technometrics 12, 1970).
//
// Each window is told with what was known one to sixteen windows before it, for
// memory that is moved stays for some: by one fit for five windows ahead, and
// by others for those after (kSpans), each held to the one before. How far
// ahead is looked follows how long the job has lasted, a third of it, for no
// phase is known to last for longer than what was seen: five windows at first,
// sixteen after forty-eight. Windows count alike in a fit, whether much was
// lost in them or little.
//
// Thread safety: none. Determinism: the same views give the same bits, on
// every processor. Cost: O(objects) a window, and more for 2,048 of them at
// most that it learns from, of which it keeps about 2 MB. Nothing outlives the
// job.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/foretold.h"
#include "estimator/view.h"

namespace thermocline {

class Autoregression {
 public:
  /// Takes in a window and what was foretold before it (`kept`, as the last
  /// decision left it); how what comes is to be told goes into `kept`.
  /// `seen` has taken in the same view. A window without an access is none.
  void see(const View& view, const FeatureTracker& seen, Foretold& kept);

 private:
  // Distances in objects, from so many to so many, in both directions.
  struct Bin {
    std::ptrdiff_t from;
    std::ptrdiff_t to;
    constexpr double width() const {
      return static_cast<double>(to - from + 1);
    }
  };
  static constexpr std::array<Bin, 5> kBins = {
      {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {9, 16}}};
  static constexpr std::ptrdiff_t kReach = kBins.back().to;
  // Windows ahead, from so many to so many, each with weights of its own.
  struct Span {
    std::size_t from;
    std::size_t to;
    constexpr double length() const {
      return static_cast<double>(to - from + 1);
    }
  };
  static constexpr std::array<Span, 4> kSpans = {
      {{1, 5}, {6, 8}, {9, 12}, {13, 16}}};
  static constexpr std::size_t kAhead = kSpans.back().to;
  // The regressors, in ns a byte: by the network; in this window; lately, for
  // longer and on average; then of each bin what lies before and behind.
  enum Regressor : std::size_t { kNetwork, kNow, kShort, kLong, kMean, kNear };
  static constexpr std::size_t kAll = kNear + 2 * kBins.size();

  using Weights = std::array<double, kAll>;
  using Square = std::array<double, kAll * kAll>;
  // What was known of some objects when a window had passed.
  struct Known {
    std::vector<ObjectId> object;
    std::vector<float> weight;                    // bytes, in mean objects
    std::array<std::vector<float>, kAll> column;  // of each object
    Square products{};                            // of columns, weighed
  };

  void take_in(const View& view, std::span<const ObjectId> due);
  void complete(const Foretold& kept);
  void learn();
  void remember();
  void note(const View& view);
  void solve();
  static Weights ridge(const Square& squares, const Weights& targets,
                       const Weights& prior);
  void foretell(const View& view, Foretold& kept);
  // Of what all would lose, so far.
  double network_over_model() const {
    return modelled_ns_ > 0 ? foretold_ns_ / modelled_ns_ : 1;
  }

  // By object, ns a byte; now_ and sums_ with kReach of nothing at both ends.
  std::vector<float> now_;
  std::vector<double> sums_;  // of all before
  std::vector<float> short_;
  std::vector<float> long_;
  std::vector<float> total_;  // of all windows
  std::vector<ObjectId> used_;
  double lost_ = 0;       // in this window, ns a byte
  double mean_lost_ = 0;  // for longer
  double windows_ = 0;
  double per_footprint_ = 0;  // of the network's unit, ns a byte, then
  double foretold_ns_ = 0;    // by the network, of all, for longest
  double modelled_ns_ = 0;    // the same by the model
  double lost_ns_ = 0;
  double bytes_ = 0;         // of all that is there
  std::deque<Known> known_;  // the last first
  std::array<Square, kSpans.size()> squares_{};
  std::array<Weights, kSpans.size()> targets_{};
  Weights weights_{};  // of the mean over the next decisions_ windows
  std::size_t decisions_ = 0;
};

}  // namespace thermocline
