// AdaptiveHeat: what each object will lose in slow memory in the next window,
// from the four characteristics of what was seen of it.
//
// Online there is no graph; each characteristic becomes a forecast of the loss
// per byte, and heat is their weighted sum:
//   reads, writes  what its loads, and its stores, lost of late (HeatLog)
//   reuse          what it loses when it is used, times how often an object was
//                  used that, too, was last used so long ago and so long after
//                  the time before
//   life           what objects lose that have lived as long, and whose lives
//                  before this one were as long; lives end when nothing is left
//   size           what objects lose of like size
// The tables behind the last three are learned as the job runs, and so are the
// weights (TraitFit), both from a sample of the objects that goes round. So
// each works in whichever direction the job has it: long-lived objects may be
// the hot ones or the cold. It begins with reads and writes alone.
//
// Thread safety: none. Deterministic: asks no clock. Units: nanoseconds per
// window and byte. Cost: one pass over the objects, and a few thousand samples.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policies/heat_log.h"
#include "policies/trait_fit.h"

namespace thermocline {

class AdaptiveHeat {
 public:
  static constexpr std::size_t kAges = 8;  // classes of reuse and life
  static constexpr std::size_t kSizes = 64;

  AdaptiveHeat();

  /// Takes a window in.
  void see(const View& view);

  /// By object: the expected loss per byte; 0 for one without bytes.
  const std::vector<double>& density() const { return density_; }
  const HeatLog& log() const { return log_; }
  const Traits& weights() const { return fit_.weights(); }
  /// What the characteristics foretell of one object. Requires: it was seen.
  Traits forecast(ObjectId object) const;

 private:
  struct Rate {  // a mean that fades
    double sum = 0;
    double of = 0;
    double value() const { return of > 0 ? sum / of : 0; }
  };
  struct Said {
    ObjectId object = 0;
    Traits traits{};
    std::uint8_t reuse = 0;
    std::uint8_t life = 0;
    std::uint8_t size = 0;
  };

  void learn(const View& view);
  void note_touched();
  void note_lives();
  void foretell(const View& view);
  void sample(const View& view);
  std::uint8_t reuse_class(ObjectId object) const;
  std::uint8_t life_class(ObjectId object) const;
  double loss(double loads, double stores) const {
    return loads * log_.load_ns() + stores * log_.store_ns();
  }

  HeatLog log_;
  TraitFit fit_;
  std::int32_t window_ = 0;
  // By object.
  std::vector<double> density_;
  std::vector<double> used_;          // its loss per byte when it is used
  std::vector<double> now_;           // its loss in the window of its last use
  std::vector<std::int32_t> last_;    // window of its last use; -1: none
  std::vector<std::uint8_t> waited_;  // class of the wait before that
  std::vector<std::int32_t> born_;    // window
  std::vector<std::uint8_t> lived_;   // class of its lives before; 0: none
  std::vector<std::uint8_t> size_;    // class; 0: nothing there
  std::array<Rate, kAges * kAges> reuse_;
  std::array<Rate, kAges * kAges> life_;
  std::array<Rate, kSizes> size_loss_;
  std::vector<Said> said_;
};

}  // namespace thermocline
