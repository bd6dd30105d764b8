#include "daemon/service.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/guard_switches.h"
#include "traces/from_cache.h"

namespace thermocline {
namespace {

constexpr std::size_t kMostUnknown = 65'536;
constexpr Address kKernelHalf = Address{1} << 63;

}  // namespace

Service::Service(Kernel& kernel, Machine machine, Options options,
                 PolicyMaker make_policy)
    : kernel_(kernel),
      machine_(std::move(machine)),
      configured_(std::move(options)),
      options_(switched(configured_)),
      make_policy_(std::move(make_policy)),
      budget_(options_.budget, options_.target.region_bytes, kernel.now()),
      moves_budget_(*budget_.add("migration", 1)),
      leases_(budget_, kernel),
      finder_(kernel, options_.find),
      window_began_(kernel.now()) {}

Result<std::unique_ptr<Service>> Service::make(Kernel& kernel, Machine machine,
                                               Options options,
                                               PolicyMaker make_policy) {
  if (machine.tiers.empty()) return invalid("the machine has no tiers");
  for (const auto& guard : options.without) {
    if (auto known = guard_switch(guard); !known) return known.error();
  }
  std::unique_ptr<Service> service(new Service(
      kernel, std::move(machine), std::move(options), std::move(make_policy)));
  const auto& wanted = service->options_;
  for (const auto& rule : wanted.find) {
    if (auto status = check_rule(rule); !status) return status.error();
  }
  const auto policy =
      service->make_policy_(wanted.policy, wanted.policy_options);
  if (!policy) return policy.error();
  if (auto status = service->choose_mover(); !status) return status.error();
  service->moves_thread_ = std::make_unique<MoveThread>(
      kernel, service->machine_, *service->mover_, service->options_.threads);
  return service;
}

Status Service::choose_mover() {
  auto wanted =
      Registry<Mover>::make("mover", options_.mover, nlohmann::json::object());
  if (!wanted) return wanted.error();
  mover_ = *std::move(wanted);
  const auto known = memory();
  for (TierId t = 0; t < known.size(); ++t) {
    if (known[t]) continue;
    const auto& tier = machine_.tiers[t];
    std::string what = "tier " + tier.name + " is on node";
    for (const int node : tier.nodes) what += " " + std::to_string(node);
    what += ", which this host lacks";
    if (mover_->moves()) {
      return unsupported(what + "; give another --machine or use --mover dry");
    }
    notice(what + ": capacities are not known");
  }
  if (!mover_->moves()) {
    dry_reason_ = "mover dry was asked for";
  } else if (machine_.tiers.size() < 2) {
    dry_reason_ = "this machine has one memory tier only";
  }
  if (dry_reason_.empty()) {
    see_balancing();
    return options_.target.move_shared ? kernel_.move_shared() : Status{};
  }
  notice("nothing will be moved: " + dry_reason_);
  auto dry = Registry<Mover>::make("mover", "dry", nlohmann::json::object());
  if (!dry) return dry.error();
  mover_ = *std::move(dry);
  return {};
}

// Pages that the kernel marked for its hint faults cannot be moved, and both
// would move the same pages back and forth. An administrator may switch it at
// any time.
void Service::see_balancing() {
  if (options_.allow_numa_balancing || !dry_reason_.empty()) return;
  const auto text = kernel_.read_file("proc/sys/kernel/numa_balancing");
  const bool on = text && !text->empty() && text->front() != '0';
  if (std::exchange(balanced_, on) == on) return;
  notice(on ? "nothing will be moved: " + dry_reason()
            : "the kernel's own NUMA balancing is off: pages are moved again");
}

const std::string& Service::dry_reason() const {
  static const std::string kBalanced =
      "the kernel's own NUMA balancing is on; turn it off with sysctl "
      "kernel.numa_balancing=0, or pass --allow-numa-balancing";
  return balanced_ ? kBalanced : dry_reason_;
}

const Managed* Service::find(int pid) const {
  for (const auto& one : managed_) {
    if (one->target().pid() == pid) return one.get();
  }
  return nullptr;
}

Managed* Service::find(int pid) {
  return const_cast<Managed*>(std::as_const(*this).find(pid));
}

std::vector<int> Service::pids() const {
  std::vector<int> out;
  for (const auto& one : managed_) out.push_back(one->target().pid());
  return out;
}

Result<std::unique_ptr<Policy>> Service::make_guarded_policy(
    const std::string& name, const std::string& options) const {
  auto policy = make_policy_(name, options);
  if (!policy) return policy;
  auto fallback =
      Registry<Policy>::make("policy", "first_touch", nlohmann::json::object());
  if (!fallback) return fallback;
  return guard_policy(*std::move(policy), *std::move(fallback),
                      options_.policy_guard);
}

bool Service::attribute(const Sample& sample, int pid) {
  for (const auto& one : managed_) {
    if (pid != 0 && one->target().pid() != pid) continue;
    if (!one->count(sample)) continue;
    ++window_samples_.samples;
    window_samples_.cached += from_cache(sample) ? 1 : 0;
    return true;
  }
  return false;
}

void Service::add(const SampleBatch& batch, int pid) {
  window_samples_.add(batch);
  for (const auto& sample : batch.samples) {
    if (sampled_from_ == 0) sampled_from_ = sample.time;
    sampled_until_ = std::max(sampled_until_, sample.time);
    if (sample.address >= kKernelHalf) {
      ++window_samples_.kernel;
      ++window_samples_.foreign;
      continue;
    }
    if (attribute(sample, pid)) continue;
    if (unknown_.size() < kMostUnknown && !managed_.empty()) {
      unknown_.emplace_back(sample, pid);
    } else {
      ++window_samples_.foreign;
    }
  }
}

void Service::retry_unknown() {
  for (const auto& [sample, pid] : unknown_) {
    if (!attribute(sample, pid)) ++window_samples_.foreign;
  }
  unknown_.clear();
}

void Service::hear(const ObserverEvent& event) {
  for (const auto& one : managed_) {
    if (one->target().pid() != event.pid) continue;
    if (std::holds_alternative<Operator>(event.what)) one->progressed();
    if (one->plan() != nullptr) one->plan()->hear(event, kernel_.now());
  }
  if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
    tensors_.born(event.pid, *tensor);
  } else if (const auto* dead = std::get_if<TensorDied>(&event.what)) {
    tensors_.died(event.pid, dead->serial);
  } else if (const auto* figure = std::get_if<ObserverFigure>(&event.what)) {
    figures_.hear(event.pid, *figure);
  } else if (std::holds_alternative<ObserverGoodbye>(event.what)) {
    tensors_.forget(event.pid);
  }
}

void Service::glance() {
  for (const auto& one : managed_) {
    one->glance();
    if (one->plan() != nullptr) one->plan()->look();
  }
}

Bytes Service::free_for(const Managed& managed, TierId tier,
                        const NodeMemory& memory) const {
  Bytes free = memory.free_with(options_.reclaim);
  for (const auto& other : managed_) {
    // On its way there, and not yet counted as used.
    if (other.get() != &managed) free -= std::min(free, other->arriving(tier));
  }
  return free;
}

// What it has of the fastest tier and what it could get were learned at
// different times, and err by what is born and dies meanwhile.
void Service::see_fast_room(Managed& managed, const Memory& tiers) const {
  if (!tiers[0]) return;
  managed.see_fast_room(managed.target().footprint(0) +
                        free_for(managed, 0, *tiers[0]));
}

Managed::Capacities Service::capacities(const Managed& managed,
                                        const Memory& tiers) const {
  const auto share = [](Bytes bytes, double part) {
    return static_cast<Bytes>(static_cast<double>(bytes) * part);
  };
  Managed::Capacities out;
  for (TierId t = 0; t < tiers.size(); ++t) {
    const auto& tier = tiers[t];
    // Unknown: what the target has there is all that it may have.
    out.push_back(managed.target().footprint(t));
    if (!tier) continue;
    const Bytes free = free_for(managed, t, *tier);
    Bytes have = out[t] + free;
    if (t == 0) have = managed.fast_room().get().value_or(have);
    if (t == 0 && managed_.size() > 1) {
      have = std::min(have, share_of_fast(managed, free));
    }
    const Bytes left = share(tier->total, options_.headroom);
    out[t] = have > left ? have - left : 0;
  }
  // The first tier is where what the target asks for anew is born.
  if (tiers[0]) {
    out[0] -=
        std::min(managed.target().newborn(), share(out[0], options_.newborn));
  }
  return out;
}

void Service::collect_moves() {
  for (const auto& done : moves_thread_->take()) {
    const auto at = std::find_if(managed_.begin(), managed_.end(),
                                 [&](const auto& managed) {
                                   return managed->serial() == done.batch.owner;
                                 });
    // Moved all the same, though its target has been let go meanwhile.
    other_moves_.add(at == managed_.end()
                         ? totals_of(done, kernel_.page_bytes())
                         : (*at)->landed(done, moves_budget()));
  }
}

void Service::finish_moves() {
  moves_thread_->finish();
  collect_moves();
  moves_.add(std::exchange(other_moves_, {}));
}

// The part of the fastest tier that is its own among all targets: `free` and
// what they have there together, divided.
Bytes Service::share_of_fast(const Managed& managed, Bytes free) const {
  Bytes all = free;
  std::vector<FastClaim> claims;
  std::size_t own = 0;
  for (const auto& one : managed_) {
    if (one.get() == &managed) own = claims.size();
    const auto& target = one->target();
    all += target.footprint(0);
    claims.push_back({one->share(), target.footprint() + target.newborn()});
  }
  return divide_fast(all, claims)[own];
}

// An emulated machine is many times slower than what it emulates. What its
// memory costs is on the clock that its samples carry, and so must the window
// be that policies set these costs beside.
Nanos Service::length_for_policies(Nanos length) {
  const Nanos before = std::exchange(sampled_from_, sampled_until_);
  if (!machine_.emulated || before == 0 || sampled_until_ <= before) {
    return length;
  }
  const Nanos emulated = sampled_until_ - before;
  dilation_ = std::max(
      1.0, static_cast<double>(length) / static_cast<double>(emulated));
  return emulated;
}

WindowReport Service::end_window() {
  WindowReport report;
  const Nanos now = kernel_.now();
  report.window = window_;
  report.length_ns = now - window_began_;
  window_began_ = now;
  const Nanos length = length_for_policies(report.length_ns);
  for (std::size_t i = managed_.size(); i-- > 0;) {
    if (!managed_[i]->refresh()) let_go(i, report);
  }
  if (window_ % options_.find_every == 0) find_targets();
  retry_unknown();
  for (const auto& name : leases_.forget_silent()) {
    record("\"" + name + "\" shares the budget no more: it fell silent");
  }
  see_balancing();
  const auto system = managed_.empty()
                          ? Refusal::kNone
                          : system_pressure(kernel_, options_.pressure);
  for (const auto& one : managed_) {
    const auto pressure = target_pressure(kernel_, one->target().pid(), system,
                                          options_.pressure);
    const auto tiers = memory();
    see_fast_room(*one, tiers);
    report.moves.add(one->decide(capacities(*one, tiers), moves_budget(),
                                 *moves_thread_, length, {rests(), pressure}));
    collect_moves();
    report.targets.push_back(one->report());
    tell_of_policy(*one, one->policy_news(report.targets.back()));
  }
  report.moves.add(std::exchange(other_moves_, {}));
  report.samples = window_samples_;
  samples_.add(window_samples_);
  moves_.add(report.moves);
  window_samples_ = {};
  ++window_;
  return report;
}

void Service::tell_of_policy(const Managed& one, PolicyWatch::News news) {
  const std::string pid = "pid " + std::to_string(one.target().pid());
  if (news == PolicyWatch::News::kAskedNoMore) {
    notice("policy " + options_.policy + " is asked no more for " + pid +
           ", for it failed again and again: nothing is moved there; "
           "`thermocline policy NAME` makes another");
  } else if (news == PolicyWatch::News::kFallbackDecides) {
    notice(pid + ": " + who_decides(one.policy()));
  }
}

Status Service::set_policy(const std::string& name,
                           const std::string& options) {
  std::vector<std::unique_ptr<Policy>> fresh;
  // One more than needed: so that a bad name is refused without targets too.
  for (std::size_t i = 0; i <= managed_.size(); ++i) {
    auto policy = make_guarded_policy(name, options);
    if (!policy) return policy.error();
    fresh.push_back(*std::move(policy));
  }
  for (std::size_t i = 0; i < managed_.size(); ++i) {
    managed_[i]->set_policy(std::move(fresh[i]));
  }
  options_.policy = name;
  options_.policy_options = options;
  for (const auto& one : managed_) make_plan(*one);
  return {};
}

SampleTotals Service::samples() const {
  SampleTotals sum = samples_;
  sum.add(window_samples_);
  return sum;
}

std::vector<TargetReport> Service::targets() const {
  auto out = ended_;
  for (const auto& one : managed_) out.push_back(one->report());
  return out;
}

}  // namespace thermocline
