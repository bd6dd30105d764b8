// What an OnlineLearner knows, as text: a small JSON file.
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "agent/features.h"
#include "agent/fine_tuner.h"
#include "traces/crc32c.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

constexpr const char* kKind = "thermocline online state";
constexpr int kVersion = 1;

}  // namespace

std::uint32_t OnlineState::checksum(const std::vector<float>& weights) {
  const auto* raw = reinterpret_cast<const std::uint8_t*>(weights.data());
  return crc32c({raw, weights.size() * sizeof(float)});
}

bool OnlineState::began_with(const std::vector<float>& of_agent) const {
  return base == checksum(of_agent) && weights.size() == of_agent.size();
}

std::string OnlineState::text() const {
  const Json out = {
      {"kind", kKind}, {"version", kVersion}, {"features", feature_hash()},
      {"base", base},  {"weights", weights},  {"checksum", checksum(weights)}};
  return out.dump() + "\n";
}

Status OnlineState::save(const std::string& path) const {
  return replace_file(path, text());
}

Result<OnlineState> OnlineState::load(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file) return file_failure("read", path, errno);
  text << file.rdbuf();
  auto out = parse(text.str(), path);
  if (out) return out;
  Error why = out.error();
  why.message += "; remove it, and learning begins anew";
  return why;
}

Result<OnlineState> OnlineState::parse(const std::string& text,
                                       const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  const auto is = [&json](const char* key, const Json& value) {
    return json.is_object() && json.contains(key) && json[key] == value;
  };
  const auto bad = [&name](const std::string& why) {
    return corrupt(name + " " + why);
  };
  if (!is("kind", kKind)) return bad("is not a thermocline online state");
  if (!is("version", kVersion) || !is("features", feature_hash())) {
    return bad("is of another version of Thermocline");
  }
  const auto has = [&json](const char* key, auto right) {
    return json.contains(key) && (json[key].*right)();
  };
  if (!has("base", &Json::is_number_unsigned) ||
      !has("weights", &Json::is_array)) {
    return bad("is damaged");
  }
  OnlineState out;
  out.base = json["base"].get<std::uint32_t>();
  for (const Json& one : json["weights"]) {
    if (!one.is_number()) return bad("is damaged");
    out.weights.push_back(one.get<float>());
  }
  if (!is("checksum", checksum(out.weights))) {
    return bad("is damaged (checksum)");
  }
  return out;
}

}  // namespace thermocline
