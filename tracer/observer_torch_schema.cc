#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>

#undef CHECK  // LibTorch has one as well
#include "tracer/observer_torch_schema.h"

namespace thermocline {
namespace {

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

OperatorFacts* learn(const at::RecordFunction& function, ObserverLink& link) {
  auto* const facts = new OperatorFacts;  // for good, like the schema
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
std::mutex g_mutex;

}  // namespace

// By the address of the schema's name, which lives as long as the schema. Only
// schemas are remembered: any other name lies in memory that is used again for
// another.
const OperatorFacts* facts_of(const at::RecordFunction& function,
                              ObserverLink& link) {
  static thread_local std::array<const OperatorFacts*, 256> recent{};
  static auto* const all =
      new std::unordered_map<const char*, const OperatorFacts*>;
  const char* const name = function.name();
  const auto slot = (reinterpret_cast<std::uintptr_t>(name) >> 4) % 256;
  static thread_local std::array<const char*, 256> keys{};
  if (keys[slot] == name && recent[slot]->name == name) return recent[slot];
  if (!function.operator_name()) return nullptr;
  const std::lock_guard lock(g_mutex);
  auto& known = (*all)[name];
  if (known == nullptr || known->name != name) known = learn(function, link);
  keys[slot] = name;
  return recent[slot] = known;
}

void schemas_before_fork() { g_mutex.lock(); }

void schemas_after_fork() { g_mutex.unlock(); }

}  // namespace thermocline
