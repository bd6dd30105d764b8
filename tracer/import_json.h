// read_json_list: a large JSON document, one element of its list at a time.
//
// Recordings in JSON are a list of items that is the document itself, or a
// member of an object, or of each object in a list: {"nodes": [...]},
// [{"target": 1, "snapshots": [...]}, ...]. Each element of the list is built,
// shown and forgotten, so that the document need not fit into memory; what
// stands beside the list is shown likewise.
//
// Thread safety: none. Memory: one element; at most kMaxElement.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tracer/import_input.h"

namespace thermocline {

struct JsonLimits {
  static constexpr int kDepth = 64;                  // of nesting
  static constexpr std::size_t kValues = 2'000'000;  // in one element
  static constexpr Bytes kText = Bytes{16} << 20;    // of one element
};

struct JsonUse {
  /// The list's name.
  std::string list;
  /// An element of it. An error ends the reading.
  std::function<Status(nlohmann::json&)> element;
  /// Another member of the object that the list is in, as far as it precedes
  /// or follows.
  std::function<Status(const std::string& key, nlohmann::json&)> member;
};

/// Errors: those of ImportInput and of `use`; kCorrupt, with the offset, for
/// what is no JSON, is cut, or passes the limits.
Status read_json_list(ImportInput& in, const JsonUse& use);

/// The member of that name; null where there is none, or in what is no object.
const nlohmann::json& member_of(const nlohmann::json& object, const char* name);

}  // namespace thermocline
