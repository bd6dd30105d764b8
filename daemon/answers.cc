#include "daemon/answers.h"

#include <nlohmann/json.hpp>

#include "daemon/api.h"

namespace thermocline {

using nlohmann::json;

json refusal(const Error& error) {
  return {
      {"v", Api::kVersion},
      {"ok", false},
      {"error", {{"code", code_name(error.code)}, {"message", error.message}}}};
}

Result<json> parse_answer(const std::string& text, const std::string& socket) {
  auto answer = json::parse(text, nullptr, false);
  if (answer.is_object()) return answer;
  return corrupt("the answer on " + socket +
                 " is not JSON; is it a thermoclined?");
}

Result<json> accepted(json answer) {
  const auto ok = answer.find("ok");
  if (ok != answer.end() && *ok == true) return answer;
  const auto error = answer.find("error");
  if (error != answer.end() && error->is_object()) {
    const auto message = error->find("message");
    if (message != error->end() && message->is_string()) {
      return invalid(message->get<std::string>());
    }
  }
  return invalid("refused, and not said why");
}

}  // namespace thermocline
