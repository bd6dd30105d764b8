// Service: the loop's one turn: samples -> window -> policy -> guarded moves.
//
// Has no sockets and no clock of its own: someone feeds it samples and tensor
// events, and calls end_window() when a window is over. Windows are the
// caller's; the clock of a sampler (which may be virtual) never matters here.
//
// Thread safety: none; one thread. Requires: the kernel outlives the service.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/budget_leases.h"
#include "daemon/guarded_policy.h"
#include "daemon/managed.h"
#include "daemon/node_memory.h"
#include "daemon/notices.h"
#include "daemon/observer_figures.h"
#include "daemon/policy_maker.h"
#include "daemon/pressure.h"
#include "daemon/target_finder.h"
#include "daemon/tensors.h"
#include "daemon/totals.h"
#include "tracer/observer_server.h"
#include "tracer/sampler.h"

namespace thermocline {

class Service {
 public:
  struct Options {
    std::string policy = "histogram";
    std::string policy_options = "{}";  // JSON
    std::string mover = "numa";
    bool threads = true;  // moves are made beside the loop, and long looks
    bool allow_numa_balancing = false;
    Bytes budget = Bytes{256} << 20;  // bytes/s that moves may use; 0: none
    // Share of each tier that is left free, for the kernel: above its low
    // watermark as much as lies between its watermarks
    // (vm.watermark_scale_factor, 0.1 %).
    double headroom = 0.001;
    // Share of what a target may have of the fastest tier that is kept for
    // what it will allocate, at most (policies/swing.h).
    double newborn = 0.5;
    // Share of inactive page cache taken for free (node_memory.h). Files that a
    // job reads are born in fast memory like all else, and nobody else moves
    // them out.
    double reclaim = kReclaim;
    Target::Options target;
    Guards::Options guards;
    PressureOptions pressure;
    PolicyGuardOptions policy_guard;
    // Guards that are switched off, whatever the above says
    // (guard_switches.h). Each is known there.
    std::vector<std::string> without;
    FastShare share;               // of a target that is attached without one
    std::vector<TargetRule> find;  // processes to manage as they come
    bool children = true;          // and what is attached, its children as well
    std::int64_t find_every = 5;   // windows
    // What plans are made from, for each target; none: no plans.
    std::shared_ptr<const PlanBasis> plan;
  };

  /// Errors: an unknown policy or mover, options that the policy refuses.
  static Result<std::unique_ptr<Service>> make(Kernel& kernel, Machine machine,
                                               Options options,
                                               PolicyMaker make_policy);

  /// Manages a process from now on, and what it starts if the options say so
  /// (from the next look of find_targets() on). `share`: its part of fast
  /// memory among several targets; none: that of the options. Errors: as
  /// Target::attach; kInvalid when it is managed already, by us or by another
  /// daemon that moves pages, and for a weight that is not above 0.
  Status attach(int pid, std::optional<FastShare> share = {});
  /// Errors: kNotFound when it is not managed.
  Status detach(int pid);

  /// Attaches what the rules of the options find, and children; end_window()
  /// does now and then.
  void find_targets();

  /// Takes samples in. `pid`: the process they belong to; 0 where the source
  /// does not know, and the targets' mappings decide.
  void add(const SampleBatch& batch, int pid = 0);
  void hear(const ObserverEvent& event);
  /// Looks how much memory the targets have now, as Target::glance(), and
  /// whether plans have been made.
  void glance();

  /// Whether there are plans to follow: then hear() in good time, and call
  /// follow_plans() after that and whenever next_due() has come.
  bool plans() const { return options_.plan != nullptr; }
  void follow_plans();
  /// None: only after the next event.
  std::optional<Nanos> next_due() const;

  /// Ends the window: every target is brought up to date, decided on and
  /// moved. Targets that have ended are let go and reported once as ended.
  /// What is moved beside the loop is reported with the window in which it
  /// came back.
  WindowReport end_window();

  /// Readable when moves have come back; -1: never.
  int moves_descriptor() const { return moves_thread_->descriptor(); }
  /// Takes over what was moved since the last call.
  void collect_moves();
  /// Waits for the moves that are on their way, and takes them over.
  void finish_moves();

  /// For all targets, from the next window. Errors: as make(); the old policy
  /// then stays.
  Status set_policy(const std::string& name, const std::string& options);
  void set_budget(Bytes bytes_per_s) { budget_.set_rate(bytes_per_s); }
  /// Switches a guard on or off for all targets, from the next window; what it
  /// knows of objects stays. On: as the options say. Errors: kInvalid for no
  /// such guard, and for one that only a restart switches.
  Status switch_guard(const std::string& guard, bool on);
  void pause(bool paused) { paused_ = paused; }

  const Machine& machine() const { return machine_; }
  /// Of this host's clock, what goes by while the samples' clock shows one
  /// second: above 1 on an emulated machine, once its samples have told.
  double dilation() const { return dilation_; }
  /// What holds now: without what is switched off.
  const Options& options() const { return options_; }
  Bytes budget() const { return budget_.rate(); }
  /// Shared by moves ("migration") and whoever else registers.
  Budget& shared_budget() { return budget_; }
  /// Those that do so from outside the daemon.
  BudgetLeases& leases() { return leases_; }
  const Budget& shared_budget() const { return budget_; }
  bool paused() const { return paused_; }
  /// Why nothing is moved, in one line; empty when moves are made. It may come
  /// and go: while the kernel's own NUMA balancing is on, nothing is decided.
  const std::string& dry_reason() const;
  /// What was decided and changed lately, oldest first; bounded.
  const std::deque<std::string>& history() const { return history_; }
  void record(std::string line);
  /// Lets a managed process go on where it was left, and returns how many of
  /// its regions are still there. Requires: find(pid).
  Recalled recall(int pid, const TargetMemory& memory);
  /// What its user should know, one line each.
  const Notices& notices() const { return notices_; }
  void notice(std::string line) { notices_.add(std::move(line)); }

  const std::vector<std::unique_ptr<Managed>>& managed() const {
    return managed_;
  }
  /// The managed process of that pid, or nullptr.
  const Managed* find(int pid) const;
  Managed* find(int pid);
  const TensorTable& tensors() const { return tensors_; }
  const ObserverFigures& figures() const { return figures_; }
  std::vector<int> pids() const;

  // Since the start.
  std::int64_t windows() const { return window_; }
  SampleTotals samples() const;
  const MoveTotals& moves() const { return moves_; }
  /// Every target so far, those that ended included.
  std::vector<TargetReport> targets() const;
  /// Of each tier, as the kernel says.
  using Memory = std::vector<Result<NodeMemory>>;
  Memory memory() const { return tier_memory(kernel_, machine_); }

 private:
  Service(Kernel& kernel, Machine machine, Options options,
          PolicyMaker make_policy);
  Status choose_mover();
  void see_balancing();
  bool rests() const { return paused_ || balanced_; }
  Status manage(int pid, const FastShare& share);
  bool attribute(const Sample& sample, int pid);
  void retry_unknown();
  void let_go(std::size_t index, WindowReport& report);
  Result<std::unique_ptr<Policy>> make_guarded_policy(
      const std::string& name, const std::string& options) const;
  BudgetShare moves_budget() { return {budget_, moves_budget_}; }
  Nanos length_for_policies(Nanos length);
  Bytes free_for(const Managed& managed, TierId tier,
                 const NodeMemory& memory) const;
  void tell_of_policy(const Managed& one, PolicyWatch::News news);
  void see_fast_room(Managed& managed, const Memory& tiers) const;
  // Bytes of each tier that a target may have now.
  Managed::Capacities capacities(const Managed& managed,
                                 const Memory& tiers) const;
  Bytes share_of_fast(const Managed& managed, Bytes free) const;
  // In service_plans.cc, as what is public of plans.
  void make_plan(Managed& managed);
  Room room_for_plan(const Managed& managed) const;
  std::vector<Bytes> room_for_moves() const;
  std::vector<Bytes> room_;  // for moves, as of room_at_ and what moved since
  Nanos room_at_ = 0;

  Kernel& kernel_;
  Machine machine_;
  const Options configured_;
  Options options_;  // as configured, but for what was set or switched since
  PolicyMaker make_policy_;
  std::unique_ptr<Mover> mover_;
  std::unique_ptr<MoveThread> moves_thread_;  // uses the mover
  std::uint64_t serials_ = 0;
  std::string dry_reason_;
  bool balanced_ = false;  // the kernel moves pages, too
  Budget budget_;
  Budget::Id moves_budget_;
  BudgetLeases leases_;
  bool paused_ = false;
  std::vector<std::unique_ptr<Managed>> managed_;
  TargetFinder finder_;
  std::vector<TargetReport> ended_;
  TensorTable tensors_;
  ObserverFigures figures_;
  // Samples in no known region: the mapping may be newer than our maps.
  std::vector<std::pair<Sample, int>> unknown_;
  Notices notices_;
  std::deque<std::string> history_;
  std::int64_t window_ = 0;
  Nanos window_began_;
  // The time of the last sample before this window, or of the first of all.
  Nanos sampled_from_ = 0;
  Nanos sampled_until_ = 0;
  double dilation_ = 1;
  MoveTotals other_moves_;  // in this window, not decided at its end
  SampleTotals window_samples_;
  SampleTotals samples_;
  MoveTotals moves_;
};

}  // namespace thermocline
