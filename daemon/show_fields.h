// An answer of the API, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace thermocline {

/// Text as it is, all else as JSON.
std::string text_of(const nlohmann::json& value);

/// The number under a key; 0 where there is none.
double number_in(const nlohmann::json& from, const char* key);

/// Prints key by key, bytes as people read them; at indent 0 without "v" and
/// "ok".
void print_fields(const nlohmann::json& from, int indent);

}  // namespace thermocline
