// ExecutionNode: one operator of a PyTorch execution trace.
//
// Both forms of the schema are read: 1.0 (PyTorch 1.13: "parent", "op_schema"
// and lists of inputs, types, ...) and 1.1 (Chakra: "ctrl_deps", "attrs" and
// an object for each side). A tensor is written as [tensor, storage, offset,
// elements, bytes of each, device] (execution_trace_observer.cpp).
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

struct TensorUse {
  std::uint64_t tensor = 0;
  std::uint64_t storage = 0;
  Bytes bytes = 0;  // of the storage, as far as this tensor shows it
  std::string device;
  bool written = false;  // an input that the operator changes
};

struct ExecutionNode {
  static constexpr std::uint64_t kBackwardScope = 1;

  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string name;
  bool has_schema = false;  // a registered operator, not a range or function
  std::uint64_t scope = 0;
  std::uint32_t thread = 0;
  std::vector<TensorUse> inputs;  // those that hold anything
  std::vector<TensorUse> outputs;
};

/// Reads an element of "nodes". Errors: kCorrupt, naming the node.
Result<ExecutionNode> read_execution_node(const nlohmann::json& node);

/// For each argument of an operator's schema, whether the operator writes it:
/// "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)" writes the first.
std::vector<bool> written_arguments(std::string_view schema);

}  // namespace thermocline
