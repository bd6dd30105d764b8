// crash_states: every state in which a crash may leave memory, or
// a bounded, seeded sample where there are too many.
#pragma once

#include <functional>
#include <random>

#include "tests/training/persistence_domain.h"

namespace thermocline {

class CrashStates {
 public:
  CrashStates(std::uint64_t most, std::uint64_t seed)
      : most_(most), random_(seed) {}

  /// Calls visit(image) for the states that are possible now: all of them, if
  /// they are at most `most`, and torn ones besides.
  void each(const PersistenceDomain& domain,
            const std::function<void(ByteSpan)>& visit) {
    std::vector<const PersistenceDomain::Unit*> units;
    std::vector<Bytes> at;
    std::uint64_t states = 1;
    for (const auto& [number, unit] : domain.pending()) {
      units.push_back(&unit);
      at.push_back(number * domain.unit_bytes());
      states = std::min(states * unit.contents.size(), most_ + 1);
    }
    ByteVector image = domain.durable();
    const bool all = states <= most_;
    for (std::uint64_t n = 0; n < (all ? states : most_); ++n) {
      std::uint64_t rest = n;
      for (std::size_t i = 0; i < units.size(); ++i) {
        const auto choices = units[i]->contents.size();
        const auto pick = all ? rest % choices : random_() % choices;
        rest /= choices;
        put(image, at[i], units[i]->contents[pick]);
      }
      visit(image);
    }
    for (std::uint64_t n = 0; !units.empty() && n < kTorn; ++n) {
      for (std::size_t i = 0; i < units.size(); ++i) {
        put(image, at[i], torn(*units[i], domain.torn_bytes()));
      }
      visit(image);
    }
  }

 private:
  static constexpr std::uint64_t kTorn = 16;

  static void put(ByteVector& image, Bytes at, const ByteVector& content) {
    std::ranges::copy(content, &image[at]);
  }
  // One store that was under way: parts of before and after.
  ByteVector torn(const PersistenceDomain::Unit& unit, Bytes grain) {
    const auto upto = 1 + random_() % (unit.contents.size() - 1);
    ByteVector out = unit.contents[upto - 1];
    for (Bytes part = 0; part < out.size(); part += grain) {
      if (random_() % 2 == 0) continue;
      std::copy_n(&unit.contents[upto][part], grain, &out[part]);
    }
    return out;
  }

  std::uint64_t most_;
  std::mt19937_64 random_;
};

}  // namespace thermocline
