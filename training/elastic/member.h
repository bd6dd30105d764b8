// Member: what a rank says to the coordinator of an elastic job, and hears.
//
//   auto member = Member::join(ranks);
//   member->began(step);
//   for (; step < steps; ++step) {
//     ...
//     const auto end = member->stepped(step + 1, loss);   // collective
//     if (*end || (step + 1) % every == 0) { save(); member->saved(step + 1); }
//     if (*end) return member->left();
//   }
//   member->finished();
//
// The coordinator is `thermocline job run`, on a Unix socket that it names in
// the environment ($THERMOCLINE_JOB); only rank 0 talks to it (ZeroMQ DEALER,
// JSON; the words are in README.md). Without one, nothing is said and nobody
// asks for an end: the same program runs under mpirun or alone. One that goes
// away while the job runs is not missed, either.
//
// Thread safety: one thread per rank. Errors: those of the ranks.
#pragma once

#include <cstdint>
#include <memory>

#include "training/ranks/ranks.h"

namespace thermocline {

class Member {
 public:
  /// Collective. Errors: kIo when the coordinator's socket cannot be used.
  static Result<Member> join(Ranks& ranks);
  Member(Member&&) noexcept;
  Member& operator=(Member&&) noexcept;
  ~Member();

  /// Which run of the job this is, from 1; 0 without a coordinator.
  int run() const;

  /// Going on from so many steps.
  void began(std::uint64_t steps);
  /// So many steps are done. Collective. Returns: whether the job is to save
  /// now and end, since its workers change or it was asked to stop.
  Result<bool> stepped(std::uint64_t steps, double loss);
  /// A checkpoint of so many steps is durable.
  void saved(std::uint64_t steps);
  /// Saved and about to end, as asked.
  void left();
  /// All steps are done.
  void finished();

 private:
  struct Impl;
  explicit Member(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thermocline
