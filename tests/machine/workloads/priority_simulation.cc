// priority_simulation: a discrete-event simulation whose events wait in a heap.
//
// After PHOLD, the usual benchmark of such simulators (Fujimoto 1990): a fixed
// number of tokens moves between agents. Handling an event changes the agent
// that it is for, and sends the token on, to one of the agent's neighbours.
// PHOLD draws that from all agents; here each has its few, the popular more
// often. Delays are whole ticks, and never shorter than kLookahead.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kEvents = 25'000;  // handled in a step
constexpr std::size_t kTokens = 2;         // per agent
constexpr std::uint64_t kLookahead = 4096;
constexpr std::uint64_t kSpread = std::uint64_t{1} << 20;  // of delays
constexpr std::size_t kNeighbours = 10;

struct Event {
  std::uint64_t time = 0;
  std::uint32_t token = 0;  // no two events have the same
  std::uint32_t agent = 0;
};

// Whether `a` is handled after `b`: std::push_heap keeps the first in front.
bool later(const Event& a, const Event& b) {
  return a.time != b.time ? a.time > b.time : a.token > b.token;
}

struct alignas(64) Agent {
  std::uint64_t clock = 0;  // of its last event
  std::uint64_t state = 0;  // depends on all its events, and on their order
  std::uint64_t handled = 0;
  std::array<std::uint32_t, kNeighbours> neighbours{};
  bool operator==(const Agent&) const = default;
};

// Returns the event that follows.
Event handle(const Event& event, Agent& agent) {
  agent.clock = event.time;
  agent.state = mix(agent.state ^ (event.time + event.token));
  ++agent.handled;
  const std::uint64_t delay = kLookahead + (agent.state & (kSpread - 1));
  const std::size_t to = (agent.state >> 32) % kNeighbours;
  return {event.time + delay, event.token, agent.neighbours[to]};
}

class PrioritySimulation final : public Workload {
 public:
  explicit PrioritySimulation(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    count_ = settings_.bytes / (sizeof(Agent) + kTokens * sizeof(Event));
    agents_ = first_agents();
    queue_ = first_events();
    std::make_heap(queue_.begin(), queue_.end(), later);
  }

  std::vector<Array> arrays() const override {
    return {array_of("agents", agents_), array_of("queue", queue_)};
  }

  std::uint64_t step(std::uint64_t /*index*/) override {
    std::uint64_t digest = 0;
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      std::pop_heap(queue_.begin(), queue_.end(), later);
      Event& event = queue_.back();
      event = handle(event, agents_[event.agent]);
      digest = digest * 31 + event.time;
      std::push_heap(queue_.begin(), queue_.end(), later);
    }
    handled_ += kEvents;
    return mix(digest);
  }

  // The same agents come out without a heap: what happens within one lookahead
  // cannot bring about more there, so each such window is sorted by itself.
  Status check() override {
    std::vector<Agent> agents = first_agents();
    std::map<std::uint64_t, std::vector<Event>> windows;
    for (const Event& event : first_events()) {
      windows[event.time / kLookahead].push_back(event);
    }
    for (std::uint64_t left = handled_; left > 0;) {
      auto window = windows.extract(windows.begin());
      std::vector<Event>& events = window.mapped();
      std::sort(events.begin(), events.end(),
                [](const Event& a, const Event& b) { return later(b, a); });
      for (const Event& event : events) {
        if (left == 0) break;
        --left;
        const Event next = handle(event, agents[event.agent]);
        windows[next.time / kLookahead].push_back(next);
      }
    }
    const auto differ =
        std::mismatch(agents.begin(), agents.end(), agents_.begin());
    if (differ.first == agents.end()) return {};
    return corrupt("agent " + std::to_string(differ.first - agents.begin()) +
                   " is not as it is when events are handled in order");
  }

  void spoil() override { ++agents_[count_ / 2].state; }

 private:
  std::vector<Agent> first_agents() const {
    Random random(settings_.seed);
    std::vector<Agent> agents(count_);
    for (Agent& agent : agents) {
      agent.state = random.next();
      // Popular ones lie anywhere, not side by side.
      for (std::uint32_t& neighbour : agent.neighbours) {
        const std::uint64_t popular = mix(random.skewed(count_)) % count_;
        const std::uint64_t any = random.below(count_);
        neighbour =
            static_cast<std::uint32_t>(random.below(2) == 0 ? popular : any);
      }
    }
    return agents;
  }

  std::vector<Event> first_events() const {
    Random random(settings_.seed, 1);
    std::vector<Event> events(kTokens * count_);
    for (std::uint32_t token = 0; Event & event : events) {
      event.time = random.below(kSpread);
      event.agent = static_cast<std::uint32_t>(random.below(count_));
      event.token = token++;
    }
    return events;
  }

  WorkloadSettings settings_;
  std::vector<Agent> agents_;
  std::vector<Event> queue_;  // a heap
  std::size_t count_ = 0;     // agents
  std::uint64_t handled_ = 0;
};

const RegisterWorkload kEntry{
    "priority_simulation",
    {"priority simulation: discrete events from a heap change agents, which "
     "send new ones",
     "the queue's upper levels and popular agents; the rest of both now and "
     "then, at random; never changes",
     false, make_workload<PrioritySimulation>}};

}  // namespace
}  // namespace thermocline
