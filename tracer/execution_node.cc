#include "tracer/execution_node.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tracer/import_json.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kMaxLists = 8;  // in one another, of tensors
constexpr std::size_t kTensorFields = 6;

bool number(const json& from, std::uint64_t& value) {
  if (!from.is_number_integer()) return false;
  if (!from.is_number_unsigned() && from.get<std::int64_t>() < 0) return false;
  value = from.get<std::uint64_t>();
  return true;
}

// A field of either form: a member, or an entry of "attrs".
const json& field(const json& node, const char* name) {
  const auto& found = member_of(node, name);
  if (!found.is_null()) return found;
  for (const auto& attribute : member_of(node, "attrs")) {
    if (member_of(attribute, "name") == name) {
      return member_of(attribute, "value");
    }
  }
  return found;
}

bool is_tensor(const json& value) {
  return value.is_array() && value.size() == kTensorFields &&
         value[kTensorFields - 1].is_string();
}

Status add_tensor(const json& value, bool written,
                  std::vector<TensorUse>& out) {
  TensorUse use;
  std::uint64_t offset = 0;
  std::uint64_t elements = 0;
  std::uint64_t size = 0;
  const bool good = number(value[0], use.tensor) &&
                    number(value[1], use.storage) && number(value[2], offset) &&
                    number(value[3], elements) && number(value[4], size) &&
                    !__builtin_add_overflow(offset, elements, &use.bytes) &&
                    !__builtin_mul_overflow(use.bytes, size, &use.bytes);
  if (!good || use.bytes > INT64_MAX) return corrupt("a tensor is malformed");
  if (elements == 0 || use.bytes == 0) return {};
  use.device = value[5].get<std::string>();
  use.written = written;
  out.push_back(std::move(use));
  return {};
}

// A value is a tensor or a list of them only if its type says so: six numbers
// and a word could be anything.
Status add_tensors(const json& value, std::string_view type, bool written,
                   int lists, std::vector<TensorUse>& out) {
  if (type.substr(0, 6) == "Tensor") {
    if (!is_tensor(value)) return {};  // "<None>"
    return add_tensor(value, written, out);
  }
  if (type.find("Tensor") == type.npos || !value.is_array()) return {};
  if (lists == kMaxLists) return corrupt("lists within lists within lists");
  for (const auto& one : value) {
    const auto kind = is_tensor(one) ? "Tensor" : type;
    if (auto added = add_tensors(one, kind, written, lists + 1, out); !added) {
      return added;
    }
  }
  return {};
}

// All tensors of one side: "inputs" or "outputs".
Status read_side(const json& node, const std::string& side,
                 const std::vector<bool>& written,
                 std::vector<TensorUse>& out) {
  const auto& given = member_of(node, (side + "s").c_str());
  const bool nested = given.is_object();
  const auto& values = nested ? member_of(given, "values") : given;
  const auto& types = nested ? member_of(given, "types")
                             : member_of(node, (side + "_types").c_str());
  if (!values.is_array() || !types.is_array()) {
    return corrupt("its " + side + "s or their types are missing");
  }
  const auto count = std::min(values.size(), types.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& type = types[i];
    if (!type.is_string()) return corrupt("a type is no text");
    const bool writes = i < written.size() && written[i];
    auto added = add_tensors(values[i], type.get_ref<const std::string&>(),
                             writes, 0, out);
    if (!added) return added;
  }
  return {};
}

}  // namespace

std::vector<bool> written_arguments(std::string_view schema) {
  std::vector<bool> written;
  const auto open = schema.find('(');
  if (open == schema.npos) return written;
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = open; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool ends = depth == 0 || (depth == 1 && c == ',');
    if (!ends) continue;
    const auto argument = schema.substr(begin, i - begin);
    begin = i + 1;
    const bool star = argument.find_first_not_of(" *") == argument.npos;
    if (!star) written.push_back(argument.find("!)") != argument.npos);
    if (depth == 0) break;
  }
  return written;
}

Result<ExecutionNode> read_execution_node(const json& from) {
  ExecutionNode node;
  if (!from.is_object()) return corrupt("a node is no object");
  if (!number(member_of(from, "id"), node.id)) {
    return corrupt("a node has no id");
  }
  const auto here = "node " + std::to_string(node.id);
  const auto& name = member_of(from, "name");
  const auto& parent = member_of(from, "parent");
  if (!name.is_string() ||
      !number(parent.is_null() ? member_of(from, "ctrl_deps") : parent,
              node.parent)) {
    return corrupt(here + " has no name or no parent");
  }
  node.name = name.get<std::string>();
  std::string schema;
  if (const auto& text = field(from, "op_schema"); text.is_string()) {
    schema = text.get<std::string>();
  }
  node.has_schema = !schema.empty();
  number(field(from, "scope"), node.scope);
  std::uint64_t thread = 0;
  number(field(from, "tid"), thread);
  node.thread = static_cast<std::uint32_t>(thread);
  const auto written = written_arguments(schema);
  if (auto read = read_side(from, "input", written, node.inputs); !read) {
    return read.error().within(here);
  }
  if (auto read = read_side(from, "output", {}, node.outputs); !read) {
    return read.error().within(here);
  }
  return node;
}

}  // namespace thermocline
