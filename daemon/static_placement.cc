#include "daemon/static_placement.h"

#include <algorithm>
#include <limits>

#include "daemon/units.h"

namespace thermocline {
namespace {

// Memory that was never sampled is shown to a policy in so many pieces.
constexpr std::size_t kUnseenPieces = 64;
// Rounds without a move that end a policy's settling, and rounds at most.
constexpr int kQuietRounds = 3;
constexpr int kMostRounds = 100;

TierId slowest_of(const Differential& made) {
  return static_cast<TierId>(made.machine().tiers.size() - 1);
}

// A policy's world: the accessed regions, then pieces of the unseen memory.
class Settling {
 public:
  Settling(const Differential& made, const JobMemory& memory)
      : made_(made), memory_(memory) {
    const auto windows = static_cast<double>(made.windows());
    for (std::size_t i = 0; i < memory.bytes.size(); ++i) {
      add(memory.bytes[i], memory.loads[i] / windows,
          memory.stores[i] / windows);
    }
    const Bytes unseen = memory.unseen();
    for (std::size_t k = 0; unseen > 0 && k < kUnseenPieces; ++k) {
      const Bytes from = unseen / kUnseenPieces * k;
      add(k + 1 < kUnseenPieces ? unseen / kUnseenPieces : unseen - from, 0, 0);
    }
    for (const Tier& tier : made.machine().tiers) {
      const Bytes capacity = tier.capacity > 0
                                 ? tier.capacity
                                 : std::numeric_limits<Bytes>::max() / 4;
      tiers_.push_back({capacity, 0, tier.read_ns, tier.write_ns,
                        tier.read_bytes_per_s, tier.write_bytes_per_s});
    }
    view_.window_ns =
        static_cast<Nanos>((made.slow_ns() + made.fast_ns()) / 2 / windows);
    view_.budget = std::numeric_limits<Bytes>::max() / 4;
  }

  // Each object in its turn goes to the fastest tier from `tier` on with room.
  void give_birth(TierId tier) {
    const std::size_t regions = memory_.bytes.size();
    const std::size_t pieces = objects_.size() - regions;
    std::size_t piece = 0;
    for (std::size_t i = 0; i < memory_.order.size(); ++i) {
      while (piece * memory_.order.size() < i * pieces) {
        place_new(regions + piece++, tier);
      }
      place_new(memory_.order[i], tier);
    }
    while (piece < pieces) place_new(regions + piece++, tier);
    born_ = objects_;
  }

  // Whether it came to rest.
  bool run(Policy& policy) {
    int quiet = 0;
    for (int round = 0; round < kMostRounds; ++round) {
      view_.window = round;
      view_.objects = objects_;
      view_.tiers = tiers_;
      const auto moves = policy.decide(view_);
      for (const Move& move : moves) carry_out(move);
      quiet = moves.empty() ? quiet + 1 : 0;
      if (quiet == kQuietRounds) return true;
    }
    return false;
  }

  StaticPlacement placement() const {
    StaticPlacement out;
    for (const TierView& tier : tiers_) out.bytes_by_tier.push_back(tier.used);
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const ObjectView& object = objects_[i];
      if (i < memory_.bytes.size()) out.tiers.push_back(object.tier);
      if (object.bytes == 0 || object.tier == born_[i].tier) continue;
      out.moved_bytes += object.bytes;
      out.move_ns += made_.move_ns(object.bytes, born_[i].tier, object.tier);
    }
    return out;
  }

 private:
  void add(Bytes bytes, double loads, double stores) {
    ObjectView object;
    object.id = static_cast<ObjectId>(objects_.size());
    object.bytes = bytes;
    object.tier = slowest_of(made_);
    object.loads = loads;
    object.stores = stores;
    objects_.push_back(object);
  }
  void place_new(std::size_t i, TierId tier) {
    ObjectView& object = objects_[i];
    while (tier < slowest_of(made_) &&
           tiers_[tier].used + object.bytes > tiers_[tier].capacity) {
      ++tier;
    }
    object.tier = tier;
    tiers_[tier].used += object.bytes;
  }
  void carry_out(const Move& move) {
    ObjectView& object = objects_[move.object];
    tiers_[object.tier].used -= object.bytes;
    object.tier = move.to;
    tiers_[object.tier].used += object.bytes;
  }

  const Differential& made_;
  const JobMemory& memory_;
  std::vector<ObjectView> objects_;
  std::vector<ObjectView> born_;
  std::vector<TierView> tiers_;
  View view_;
};

}  // namespace

JobMemory JobMemory::of(const Differential& made, const Trace& trace) {
  JobMemory out;
  const auto regions = made.objects();
  out.bytes.resize(regions.size());
  out.loads.resize(regions.size());
  out.stores.resize(regions.size());
  out.gain_ns.resize(regions.size());
  std::vector<bool> sampled(regions.size(), false);
  for (std::size_t w = 0; w < made.windows(); ++w) {
    for (const WindowAccess& access : made.accesses(w)) {
      if (access.loads + access.stores > 0) sampled[access.object] = true;
      out.bytes[access.object] = regions[access.object].bytes();
      out.loads[access.object] += access.loads;
      out.stores[access.object] += access.stores;
      out.gain_ns[access.object] +=
          access.cost * (made.slow_ns(w) - made.fast_ns(w));
    }
  }
  for (std::size_t i = 0; i < regions.size(); ++i) {
    out.accessed += out.bytes[i];
    if (sampled[i]) out.sampled += out.bytes[i];
  }
  out.total = std::max(out.accessed, made.private_bytes());

  const RegionIndex index(regions);
  std::vector<bool> met(regions.size(), false);
  const auto meet = [&](ObjectId region) {
    if (!met[region] && out.bytes[region] > 0) out.order.push_back(region);
    met[region] = true;
  };
  for (const Sample& sample : trace.samples) {
    if (const auto region = index.find(sample.address)) meet(*region);
  }
  // What only the other run's samples met.
  for (std::size_t i = 0; i < regions.size(); ++i) {
    meet(static_cast<ObjectId>(i));
  }
  return out;
}

StaticPlacement all_in(const Differential& made, const JobMemory& memory,
                       TierId tier) {
  StaticPlacement out;
  out.name = "all in " + made.machine().tiers[tier].name;
  out.tiers.assign(made.objects().size(), tier);
  out.bytes_by_tier.assign(made.machine().tiers.size(), 0);
  out.bytes_by_tier[tier] = memory.total;
  return out;
}

StaticPlacement hottest(const Differential& made, const JobMemory& memory,
                        double share) {
  if (share >= 1) return all_in(made, memory, 0);
  StaticPlacement out = all_in(made, memory, slowest_of(made));
  const auto density = [&](ObjectId i) {
    return memory.gain_ns[i] / static_cast<double>(memory.bytes[i]);
  };
  auto order = memory.order;
  std::sort(order.begin(), order.end(), [&](ObjectId a, ObjectId b) {
    return density(a) != density(b) ? density(a) > density(b) : a < b;
  });
  const auto budget =
      static_cast<Bytes>(share * static_cast<double>(memory.total));
  Bytes taken = 0;
  for (const ObjectId i : order) {
    if (taken + memory.bytes[i] > budget) continue;
    out.tiers[i] = 0;
    taken += memory.bytes[i];
  }
  // What is left of the budget goes to memory that was never sampled.
  taken += std::min(budget - taken, memory.unseen());
  out.bytes_by_tier.front() = taken;
  out.bytes_by_tier.back() = memory.total - taken;
  return out;
}

Result<StaticPlacement> settled(const Differential& made,
                                const JobMemory& memory, Policy& policy) {
  const auto& tiers = made.machine().tiers;
  for (std::size_t t = 0; t + 1 < tiers.size(); ++t) {
    if (tiers[t].capacity > 0) continue;
    return invalid("tier " + tiers[t].name + " of machine \"" +
                   made.machine().name +
                   "\" has no capacity, which a policy needs; give it with "
                   "--machine");
  }
  const TierId birth = policy.birth_tier(tiers.size());
  Settling settling(made, memory);
  settling.give_birth(birth == kNoTier ? TierId{0} : birth);
  const bool rests = settling.run(policy);
  StaticPlacement out = settling.placement();
  if (!rests) {
    out.note = "the policy still moves after " + std::to_string(kMostRounds) +
               " rounds; this is where it happened to be";
  }
  return out;
}

Status check_fits(const Machine& machine, const StaticPlacement& placement) {
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    const Tier& tier = machine.tiers[t];
    const Bytes bytes = placement.bytes_by_tier[t];
    if (tier.capacity == 0 || bytes <= tier.capacity) continue;
    return invalid("tier " + tier.name + " would hold " +
                   std::to_string(bytes) + " bytes (" +
                   show_bytes(static_cast<double>(bytes)) + "), but has " +
                   std::to_string(tier.capacity) + " (" +
                   show_bytes(static_cast<double>(tier.capacity)) + ")");
  }
  return {};
}

}  // namespace thermocline
