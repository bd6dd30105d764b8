// SampleExchange: one rank's samples, a part of which it swaps every epoch.
//
//   begin(epoch)      the order of this epoch; nothing has moved yet
//   advance(trained)  sends what is due, one-sided, while the job computes
//   finish()          waits, checks what came, and only then lets go of what
//                     was sent
//
// Every sample is with exactly one rank between epochs, and is trained on once
// an epoch. What arrives lands in a zone of its own, (1 + Q) times the shard in
// all; it may lie in memory that the caller chose (slow or persistent memory
// will do: each byte is written and read once). Damaged samples are sent again,
// for their sender keeps them until everybody has everything.
//
// Thread safety: one thread per rank; begin, finish and make are collective.
// Source: after partial local shuffling (Nguyen et al., IPDPS 2022); one-sided
// puts, checksums and resending are ours.
#pragma once

#include <string>

#include "training/bandwidth.h"
#include "training/ranks/ranks.h"

namespace thermocline {

struct StoredSample {
  std::uint64_t id = 0;  // unique in the job
  std::vector<std::byte> bytes;
};

struct ExchangeOptions {
  double fraction = 0.1;
  std::int64_t seed = 1;
  std::int64_t slot_bytes = 0;
  void fields(auto& f) {
    f("fraction", fraction, 0.0, 1.0,
      "share of its samples that a rank exchanges each epoch");
    f("seed", seed, std::int64_t{0}, std::int64_t{1} << 62,
      "of all permutations; the same on all ranks");
    f("slot_bytes", slot_bytes, std::int64_t{0}, std::int64_t{1} << 31,
      "room for one arriving sample; 0: the largest sample of the job");
  }
};

struct ExchangeStats {
  std::int64_t sent_bytes = 0;     // to other ranks, payload and headers
  std::int64_t store_bytes = 0;    // of the samples held
  std::int64_t landing_bytes = 0;  // of the zone for arriving samples
  std::int64_t resent = 0;         // rounds that were repeated
  double exposed_seconds = 0;      // in finish(): not hidden by compute
};

class SampleExchange {
 public:
  /// All ranks together. `landing`: memory for arriving samples that outlives
  /// this; empty: windows of its own. Errors: kInvalid when options or samples
  /// are wrong on any rank (all get an error then): a sample larger than the
  /// slot, an empty shard, too small a landing zone.
  static Result<SampleExchange> make(Ranks& ranks,
                                     std::vector<StoredSample> shard,
                                     const ExchangeOptions& options,
                                     std::span<std::byte> landing = {});

  /// From now on, samples are sent as there is bandwidth for them: what is due
  /// and must wait goes later, the rest in finish(), which waits for its turn.
  /// `bandwidth` outlives this.
  void share(Bandwidth& bandwidth) { bandwidth_ = &bandwidth; }

  /// Requires: not within an epoch.
  void begin(std::uint64_t epoch);
  /// Indices into samples(), in the order of this epoch.
  const std::vector<std::size_t>& order() const { return order_; }
  /// Starts sending what is due when that many samples of the epoch are done.
  void advance(std::size_t trained);
  /// Errors: kCorrupt when a sample stays damaged after three tries, naming
  /// its sender; no rank has let go of anything then. kIo.
  Status finish();

  const std::vector<StoredSample>& samples() const { return samples_; }
  const ExchangeStats& stats() const { return stats_; }

  /// What resuming takes: the samples, and the epoch that is under way or comes
  /// next. Valid at any time; an epoch cut short begins again (the same order,
  /// so a job that remembers its place within it goes on from there).
  Status save(const std::string& path) const;
  /// As save() left it. Errors: kNotFound, kIo; kCorrupt.
  struct Saved {
    std::uint64_t epoch = 0;
    std::vector<StoredSample> samples;
  };
  static Result<Saved> load(const std::string& path);

 private:
  SampleExchange() = default;
  void send(std::size_t k);
  Bytes bytes_of(std::size_t k) const;
  bool may_send(std::size_t k);
  std::size_t slot() const;
  bool arrived(std::size_t k, StoredSample* to) const;
  std::vector<int> destinations_of(std::size_t k) const;
  Error damaged() const;

  Ranks* ranks_ = nullptr;
  Bandwidth* bandwidth_ = nullptr;
  ExchangeOptions options_;
  std::vector<StoredSample> samples_;
  std::vector<std::byte> headers_;  // of the samples under way
  std::unique_ptr<Window> window_;
  std::vector<std::size_t> order_;
  std::uint64_t epoch_ = 0;
  std::size_t exchanged_ = 0;  // samples that each rank gives away
  std::size_t sent_ = 0;
  ExchangeStats stats_;
};

}  // namespace thermocline
