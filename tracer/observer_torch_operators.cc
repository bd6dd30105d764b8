// Watches LibTorch's operators: which is the topmost with a schema, what it
// reads and writes, and in which phase and layer of a step it runs. Uses
// accessors of at::RecordFunction and TensorImpl only: nothing here can be
// recorded itself, or change a reference count.
// What it reads and writes, its schema says (observer_torch_schema.h); a result
// is written unless it is a view of an argument. An operator that touches no
// memory (a view, an empty allocation) is not told.
//
// Phases: what an autograd node runs is backward; what torch.optim's step and
// zero_grad run say so by a scope. Programs without that scope (C++, optimizers
// written by hand): after a backward, what writes in place or runs without
// gradients is optimizer, until an operator's result needs a gradient again;
// that one begins the next step.
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#undef CHECK  // LibTorch has one as well
#include "tracer/observer_torch.h"
#include "tracer/observer_torch_schema.h"

namespace thermocline {
namespace {

using Serials = c10::SmallVector<ObjectId, 8>;
using Name = ObserverLink::Name;

// Where a thread is. Trivially destructible, for operators run while a thread
// ends, and bounded.
struct Place {
  static constexpr std::size_t kDepth = 32;
  static constexpr std::size_t kTurns = 1024;
  struct Turn {  // from this sequence number on, forward was in this layer
    std::int64_t sequence;
    Name* layer;
  };
  struct Running* top;  // the logical operator that runs
  int backward;
  int optimizer;
  std::size_t depth;
  std::array<std::pair<std::uint64_t, Name*>, kDepth> scopes;
  std::size_t turns;
  std::array<Turn, kTurns> layers;
  Name* backward_layer;
  std::uint32_t thread;
  bool after_backward;  // and no operator has needed a gradient since
  bool updated;         // an optimizer has run since
  bool computed;        // forward or backward, since the last iteration

  Name* layer() const {
    if (backward > 0) return backward_layer;
    return depth == 0 ? nullptr : scopes[depth - 1].second;
  }
  void remember(std::int64_t sequence) {
    Name* const now = layer();
    Name* const last =
        turns == 0 ? nullptr : layers[(turns - 1) % kTurns].layer;
    if (now != last) layers[turns++ % kTurns] = {sequence, now};
  }
  // The layer whose forward operator had this sequence number.
  Name* layer_of(std::int64_t sequence) const {
    const auto kept = std::min(turns, kTurns);
    for (std::size_t back = 1; back <= kept; ++back) {
      const auto& turn = layers[(turns - back) % kTurns];
      if (turn.sequence <= sequence) return turn.layer;
    }
    return nullptr;
  }
};

thread_local Place g_place;
std::atomic<std::uint64_t> g_steps{0};
std::atomic<bool> g_scoped{false};  // torch.optim tells of its steps

std::uint32_t thread_id() {
  auto& thread = g_place.thread;
  if (thread == 0) thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return thread;
}

bool begins(const char* text, std::string_view with) {
  return std::strncmp(text, with.data(), with.size()) == 0;
}

void add(Serials& to, ObjectId serial) {
  if (std::find(to.begin(), to.end(), serial) == to.end()) to.push_back(serial);
}

// Calls use(serial) for every tensor in `value`, itself or in a list.
template <typename Use>
void each_tensor(const c10::IValue& value, ObserverLink& link, Use use) {
  if (value.isTensor()) {
    const auto* const tensor = value.unsafeToTensorImpl();
    if (!tensor->has_storage()) return;
    const void* const memory = tensor->unsafe_storage().data();
    if (memory == nullptr || !tensor->device().is_cpu()) return;
    const auto serial = link.serial_of(memory);
    serial == 0 ? link.foreign() : use(serial);
  } else if (value.isList()) {
    for (const auto& one : value.toListRef()) {
      if (!one.isTensor() && !one.isNone()) return;
      each_tensor(one, link, use);
    }
  }
}

struct Running final : at::ObserverContext {
  const OperatorFacts* facts;
  Nanos start;
  Phase phase;
  Name* layer;
  Place* place;
  std::uint32_t inner = 0;  // operators that it ran, while they are recorded
  bool silent = false;      // they are not
  Serials seen, reads, writes;
};

// Nothing is recorded on this thread while `running` runs, if it runs enough
// others to make up for what it costs (0.6 us to stop and go on, against 0.3
// to 0.5 us an operator) and nobody else listens to operators.
void silence(Running& running) {
  if (!running.facts->runs_many.worth_silence()) return;
  if (at::getStepCallbacks(at::RecordScope::FUNCTION).callbacks_.size() != 1) {
    return;
  }
  at::enableRecordFunction(false);
  running.silent = true;
}

void speak(const Running& running) {
  if (running.silent) return at::enableRecordFunction(true);
  running.facts->runs_many.learn(running.inner);
}

Phase phase_of(const OperatorFacts& facts) {
  if (g_place.backward > 0) return Phase::kBackward;
  if (g_place.optimizer > 0) return Phase::kOptimizer;
  if (g_place.after_backward && !g_scoped.load(std::memory_order_relaxed) &&
      (facts.in_place || !at::GradMode::is_enabled())) {
    g_place.updated = true;
    return Phase::kOptimizer;
  }
  return Phase::kForward;
}

// A second optimizer that steps right after the first ends no iteration.
void end_step(ObserverLink& link, Nanos time) {
  const auto step = g_steps.fetch_add(1) + 1;
  link.mark(time, "step " + std::to_string(step));
  if (std::exchange(g_place.computed, false)) iteration_ended();
}

// The running operator is forward again after a backward: was there a step?
void leave_backward(const at::RecordFunction& function, ObserverLink& link,
                    Nanos start) {
  const auto& outputs = function.outputs();
  if (std::none_of(outputs.begin(), outputs.end(), [](const auto& value) {
        return value.isTensor() && value.unsafeToTensorImpl()->requires_grad();
      })) {
    return;
  }
  g_place.after_backward = false;
  if (std::exchange(g_place.updated, false)) end_step(link, start);
}

struct Node final : at::ObserverContext {};  // an autograd node that runs

std::unique_ptr<at::ObserverContext> operator_starts(
    const at::RecordFunction& function) {
  auto* const link = observer_link();
  if (link == nullptr) return nullptr;
  if (g_place.top != nullptr) {
    ++g_place.top->inner;
    return nullptr;
  }
  if (begins(function.name(), "autograd::engine::evaluate_function")) {
    ++g_place.backward;
    return std::make_unique<Node>();
  }
  const OperatorFacts* const facts = facts_of(function, *link);
  if (facts == nullptr || !facts->watched) return nullptr;
  auto running = std::make_unique<Running>();
  running->facts = facts;
  running->place = &g_place;
  running->phase = phase_of(*facts);
  running->layer = g_place.layer();
  if (running->phase == Phase::kForward && function.seqNr() >= 0) {
    g_place.remember(function.seqNr());
  }
  const auto inputs = function.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool known = i < facts->read.size();
    each_tensor(inputs[i], *link, [&](ObjectId serial) {
      add(running->seen, serial);
      if (!known || facts->read[i]) add(running->reads, serial);
      if (known && facts->written[i]) add(running->writes, serial);
    });
  }
  silence(*running);
  g_place.top = running.get();
  running->start = ObserverLink::now();
  return running;
}

void operator_ends(const at::RecordFunction& function,
                   at::ObserverContext* context) {
  if (context == nullptr) return;
  auto* const running = dynamic_cast<Running*>(context);
  if (running == nullptr) {
    --g_place.backward;
    g_place.after_backward = true;
    return;
  }
  const auto end = ObserverLink::now();
  if (running->place == &g_place) {
    g_place.top = nullptr;
    speak(*running);
  }
  auto* const link = observer_link();
  if (link == nullptr) return;
  if (g_place.after_backward && running->phase == Phase::kForward) {
    leave_backward(function, *link, running->start);
  }
  bool views = running->writes.empty();
  bool results = false;
  for (const auto& output : function.outputs()) {
    each_tensor(output, *link, [&](ObjectId serial) {
      results = true;
      const auto& seen = running->seen;
      if (std::find(seen.begin(), seen.end(), serial) != seen.end()) return;
      views = false;
      add(running->writes, serial);
    });
  }
  if (views && results) running->reads.clear();
  if (running->reads.empty() && running->writes.empty()) return;
  // It reads: record_function around an optimizer's step makes zeros first.
  if (running->phase != Phase::kOptimizer && !running->reads.empty()) {
    g_place.computed = true;
  }
  if (auto* const placed = aggregation(); placed && placed->watching()) {
    placed->used(running->reads, running->writes);
  }
  link->tell({running->facts->told, running->layer, running->start, end,
              thread_id(), running->phase, running->reads, running->writes});
}

struct Scope final : at::ObserverContext {
  enum class Kind { kLayer, kStep, kOptimizer, kOther };
  Kind kind = Kind::kOther;
  Place* place = &g_place;
  std::uint64_t id = 0;
};

std::unique_ptr<at::ObserverContext> scope_starts(
    const at::RecordFunction& function) {
  auto* const link = observer_link();
  if (link == nullptr) return nullptr;
  auto scope = std::make_unique<Scope>();
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    const bool here = function.forwardThreadId() == function.threadId();
    g_place.backward_layer =
        here ? g_place.layer_of(function.seqNr()) : nullptr;
  } else if (begins(function.name(), "Optimizer.")) {  // step#, zero_grad#
    const bool step = begins(function.name(), "Optimizer.step#");
    scope->kind = step ? Scope::Kind::kStep : Scope::Kind::kOptimizer;
    if (step) g_scoped.store(true, std::memory_order_relaxed);
    ++g_place.optimizer;
  } else if (g_place.depth < Place::kDepth) {
    scope->kind = Scope::Kind::kLayer;
    scope->id = function.handle();
    g_place.scopes[g_place.depth++] = {scope->id,
                                       link->intern(function.name())};
  }
  return scope;
}

// Scopes need not end in the order in which they began, nor (asynchronous
// ones) on their thread: a scope takes with it those that began inside it.
void scope_ends(const at::RecordFunction&, at::ObserverContext* context) {
  const auto* const scope = static_cast<const Scope*>(context);
  if (scope == nullptr || scope->place != &g_place) return;
  if (scope->kind == Scope::Kind::kOptimizer) {
    --g_place.optimizer;
  } else if (scope->kind == Scope::Kind::kStep) {
    --g_place.optimizer;
    if (auto* const link = observer_link()) {
      end_step(*link, ObserverLink::now());
    }
  } else if (scope->kind == Scope::Kind::kLayer) {
    for (std::size_t i = 0; i < g_place.depth; ++i) {
      if (g_place.scopes[i].first == scope->id) g_place.depth = i;
    }
  }
}

}  // namespace

// Two callbacks, for what each needs is handed to all of its scopes: copies of
// an autograd node's inputs would be made for nothing.
void watch_operators() {
  using at::RecordScope;
  at::addGlobalCallback(
      at::RecordFunctionCallback(&operator_starts, &operator_ends)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({RecordScope::FUNCTION}));
  at::addGlobalCallback(
      at::RecordFunctionCallback(&scope_starts, &scope_ends)
          .needsIds(true)
          .scopes({RecordScope::BACKWARD_FUNCTION, RecordScope::USER_SCOPE}));
}

void operators_before_fork() { schemas_before_fork(); }

void operators_after_fork() { schemas_after_fork(); }

void watch_operators_in_child() {
  g_place.thread = 0;
  schemas_after_fork();
}

std::uint64_t allocation_site_here() {
  const auto* const running = g_place.top;
  if (running != nullptr) {
    const auto* const layer = running->layer;
    return allocation_site(running->facts->name,
                           layer == nullptr ? "" : layer->text, running->phase);
  }
  const auto* const layer = g_place.layer();
  return allocation_site("", layer == nullptr ? "" : layer->text,
                         g_place.backward > 0    ? Phase::kBackward
                         : g_place.optimizer > 0 ? Phase::kOptimizer
                                                 : Phase::kUnknown);
}

}  // namespace thermocline
