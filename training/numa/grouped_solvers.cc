#include "training/numa/grouped_solvers.h"

#include <atomic>
#include <barrier>
#include <thread>

#include "training/numa/node_memory.h"

namespace thermocline {

namespace {

// What a group has in its node's memory.
struct GroupMemory {
  GroupMemory(std::size_t parameters, int node, int solvers)
      : replica(parameters, node),
        own(parameters, node),
        all(parameters, node),
        gradients(static_cast<std::size_t>(solvers)) {}
  NodeFloats replica;
  NodeFloats own;  // the sum of this group's gradients
  NodeFloats all;  // of all groups'
  std::vector<std::span<const float>> gradients;
};

}  // namespace

struct Hub {
  Hub(const std::vector<SolverGroup>& of, const GroupedOptions& options)
      : groups(of), parameters(options.parameters), everybody(count(of)) {
    for (const auto& group : of) {
      const int node = options.bind ? group.node.id : -1;
      memory.emplace_back(parameters, node, group.solvers);
    }
  }
  static std::ptrdiff_t count(const std::vector<SolverGroup>& of) {
    std::ptrdiff_t out = 0;
    for (const auto& group : of) out += group.solvers;
    return out;
  }
  Solver solver(int group, int place, int index) {
    Solver out;
    out.hub_ = this;
    out.index_ = index;
    out.count_ = static_cast<int>(count(groups));
    out.group_ = group;
    out.place_ = place;
    return out;
  }
  GroupMemory& of(int group) { return memory[static_cast<std::size_t>(group)]; }

  const std::vector<SolverGroup>& groups;
  std::size_t parameters;
  std::vector<GroupMemory> memory;
  std::barrier<> everybody;
  std::atomic<std::size_t> crossed{0};
  std::atomic<std::size_t> unbound{0};
};

std::span<float> Solver::replica() const {
  return hub_->of(group_).replica.span();
}

Solver::Slice Solver::slice() const {
  const auto solvers = static_cast<std::size_t>(
      hub_->groups[static_cast<std::size_t>(group_)].solvers);
  const auto place = static_cast<std::size_t>(place_);
  return {hub_->parameters * place / solvers,
          hub_->parameters * (place + 1) / solvers};
}

void Solver::meet() { hub_->everybody.arrive_and_wait(); }

std::span<const float> Solver::sum(std::span<const float> gradient) {
  CHECK(gradient.size() == hub_->parameters);
  GroupMemory& mine = hub_->of(group_);
  mine.gradients[static_cast<std::size_t>(place_)] = gradient;
  meet();
  const Slice part = slice();
  const auto own = mine.own.span();
  for (std::size_t i = part.begin; i < part.end; ++i) {
    float total = 0;
    for (const auto& one : mine.gradients) total += one[i];
    own[i] = total;
  }
  meet();  // also: nobody reads the last sum any more
  const auto all = mine.all.span();
  for (std::size_t i = part.begin; i < part.end; ++i) all[i] = 0;
  for (auto& group : hub_->memory) {
    const auto theirs = group.own.span();
    for (std::size_t i = part.begin; i < part.end; ++i) all[i] += theirs[i];
  }
  hub_->crossed +=
      (hub_->memory.size() - 1) * (part.end - part.begin) * sizeof(float);
  meet();
  return all;
}

GroupedReport run_grouped(const std::vector<SolverGroup>& groups,
                          const GroupedOptions& options,
                          const std::function<void(Solver&)>& work) {
  CHECK(!groups.empty());
  Hub hub(groups, options);
  std::vector<std::thread> threads;
  int index = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (int place = 0; place < groups[g].solvers; ++place, ++index) {
      threads.emplace_back([&, g, place, index] {
        const NumaNode& node = groups[g].node;
        if (options.bind && !bind_thread(node.id, node.cpus)) ++hub.unbound;
        auto solver = hub.solver(static_cast<int>(g), place, index);
        work(solver);
        // Who ends early is not waited for.
        hub.everybody.arrive_and_drop();
      });
    }
  }
  for (auto& thread : threads) thread.join();
  GroupedReport report{hub.crossed, hub.unbound, 0};
  for (std::size_t g = 0; options.bind && g < groups.size(); ++g) {
    const auto replica = hub.memory[g].replica.span();
    report.astray += pages_elsewhere(replica, groups[g].node.id).value_or(0);
  }
  return report;
}

}  // namespace thermocline
