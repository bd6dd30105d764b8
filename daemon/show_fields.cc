#include "daemon/show_fields.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "daemon/units.h"

namespace thermocline {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

double number_in(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : 0;
}

void print_fields(const json& from, int indent) {
  for (const auto& [key, value] : from.items()) {
    if (indent == 0 && (key == "v" || key == "ok")) continue;
    const bool lines =
        value.is_object() ||
        (value.is_array() && !value.empty() && value.front().is_object());
    std::printf("%*s%s:", indent, "", key.c_str());
    if (value.is_string() && value.get_ref<const std::string&>().empty()) {
      std::printf("\n");
      continue;
    }
    if (!lines) {
      const bool bytes = value.is_number() && (key.find("bytes") == 0 ||
                                               key.find("_bytes") != key.npos);
      std::printf(" %s\n", bytes ? show_bytes(value.get<double>()).c_str()
                                 : text_of(value).c_str());
      continue;
    }
    std::printf("\n");
    if (value.is_object()) {
      print_fields(value, indent + 2);
      continue;
    }
    for (const auto& element : value) {
      std::printf("%*s-\n", indent + 2, "");
      print_fields(element, indent + 4);
    }
  }
}

}  // namespace thermocline
