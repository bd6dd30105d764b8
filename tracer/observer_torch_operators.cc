// Watches LibTorch's operators: which is the topmost with a schema, what it
// reads and writes, and in which phase and layer of a step it runs. Uses
// accessors of at::RecordFunction and TensorImpl only: nothing here can be
// recorded itself, or change a reference count.
//
// What an operator reads and writes, by its schema: an argument that is
// marked as written is written, and read as well unless it is an `out`
// argument or the operator is known to overwrite it; every other tensor
// argument is read; a result is written unless it is a view of an argument.
// An operator that touches no memory (a view, an empty allocation) is not
// told.
//
// Phases: what an autograd node runs is backward; what torch.optim's step and
// zero_grad run say so by a scope. Programs without that scope (C++, optimizers
// written by hand): after a backward, what writes in place or runs without
// gradients is optimizer, until an operator's result needs a gradient again;
// that one begins the next step.
#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#undef CHECK  // LibTorch has one as well
#include "tracer/observer_torch.h"

namespace thermocline {
namespace {

using Serials = c10::SmallVector<ObjectId, 8>;
using Name = ObserverLink::Name;

// What must be known of an operator, by the address of its schema's name,
// which lives as long as the schema.
struct Facts {
  std::string name;
  Name* told = nullptr;
  bool watched = false;  // has a schema, and may touch memory
  bool in_place = false;
  c10::SmallVector<bool, 16> read;
  c10::SmallVector<bool, 16> written;
};

constexpr std::string_view kOverwriting[] = {
    "aten::copy_",       "aten::zero_",      "aten::fill_",
    "aten::normal_",     "aten::uniform_",   "aten::random_",
    "aten::bernoulli_",  "aten::set_",       "aten::exponential_",
    "aten::log_normal_", "aten::geometric_", "aten::cauchy_",
};
// They allocate, or look at sizes; the profiler's own are no operators.
constexpr std::string_view kUntouching[] = {
    "aten::empty",
    "aten::new_empty",
    "profiler::",
    "aten::resize_",
    "aten::_has_compatible_shallow_copy_type",
    "aten::detach_",
    "aten::requires_grad_",
    "aten::set_data",
    "aten::is_",
};

Facts* learn(const at::RecordFunction& function, ObserverLink& link) {
  auto* const facts = new Facts;  // for good, like the schema
  facts->name = function.name();
  const std::string_view name = facts->name;
  const auto schema = function.operator_schema();
  if (!schema) return facts;
  facts->watched = std::none_of(
      std::begin(kUntouching), std::end(kUntouching),
      [&](auto prefix) { return name.substr(0, prefix.size()) == prefix; });
  facts->told = link.intern(name);
  const bool overwrites =
      std::find(std::begin(kOverwriting), std::end(kOverwriting), name) !=
      std::end(kOverwriting);
  for (const auto& argument : schema->arguments()) {
    const auto* const alias = argument.alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    facts->written.push_back(written);
    facts->in_place = facts->in_place || (written && !argument.is_out());
    facts->read.push_back(!written || !(argument.is_out() || overwrites));
  }
  return facts;
}

// Guards the facts of all schemas. Held through a fork: a child has no other
// threads, and whichever of them had it would never let go.
std::mutex g_facts_mutex;

// Only schemas are remembered: any other name lies in memory that is used
// again for another.
const Facts* facts_of(const at::RecordFunction& function, ObserverLink& link) {
  static thread_local std::array<const Facts*, 256> recent{};
  static auto* const all = new std::unordered_map<const char*, const Facts*>;
  const char* const name = function.name();
  const auto slot = (reinterpret_cast<std::uintptr_t>(name) >> 4) % 256;
  static thread_local std::array<const char*, 256> keys{};
  if (keys[slot] == name && recent[slot]->name == name) return recent[slot];
  if (!function.operator_name()) return nullptr;
  const std::lock_guard lock(g_facts_mutex);
  auto& known = (*all)[name];
  if (known == nullptr || known->name != name) known = learn(function, link);
  keys[slot] = name;
  return recent[slot] = known;
}

// Where a thread is. Trivially destructible, for operators run while a thread
// ends, and bounded.
struct Place {
  static constexpr std::size_t kDepth = 32;
  static constexpr std::size_t kTurns = 1024;
  struct Turn {  // from this sequence number on, forward was in this layer
    std::int64_t sequence;
    Name* layer;
  };
  const struct Running* top;  // the logical operator that runs
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
  const Facts* facts;
  Nanos start;
  Phase phase;
  Name* layer;
  Place* place;
  Serials seen, reads, writes;
};

Phase phase_of(const Facts& facts) {
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
  if (link == nullptr || g_place.top != nullptr) return nullptr;
  if (begins(function.name(), "autograd::engine::evaluate_function")) {
    ++g_place.backward;
    return std::make_unique<Node>();
  }
  const Facts* const facts = facts_of(function, *link);
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
  if (running->place == &g_place) g_place.top = nullptr;
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

void operators_before_fork() { g_facts_mutex.lock(); }

void operators_after_fork() { g_facts_mutex.unlock(); }

void watch_operators_in_child() {
  g_place.thread = 0;
  g_facts_mutex.unlock();
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
