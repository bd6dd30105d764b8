#include "daemon/api.h"

#include <nlohmann/json.hpp>

#include "daemon/api_operations.h"
#include "daemon/report.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Row {
  const char* name;
  const char* summary;
  Reply (*answer)(Service&, const json&);
};

Reply answer_shutdown(Service&, const json& request) {
  if (!request.empty()) return invalid("shutdown takes no fields");
  return json{{"stopping", true}};
}

constexpr Row kOperations[] = {
    {"version", "version of the daemon and of this API", answer_version},
    {"status", "what the daemon does just now", answer_status},
    {"targets", "the managed processes", answer_targets},
    {"attach", "manage a process {pid}", answer_attach},
    {"detach", "manage it no more {pid}", answer_detach},
    {"tiers", "the machine's memory tiers and their room", answer_tiers},
    {"placement", "where an {address} or a {tensor} lies", answer_placement},
    {"heat", "regions, hottest first {limit, offset, pid}", answer_heat},
    {"explain", "why an {address} or a {tensor} lies there", answer_explain},
    {"policies", "the policies and their options", answer_policies},
    {"set_policy", "decide by another policy {name, options}",
     answer_set_policy},
    {"set_budget", "bytes/s that moves may use {bytes_per_s}",
     answer_set_budget},
    {"pause", "move nothing until resume", answer_pause},
    {"resume", "move again", answer_resume},
    {"metrics", "counters in Prometheus' text format", answer_metrics},
    {"shutdown", "stop the daemon", answer_shutdown},
};

json failure(const Error& error) {
  return {
      {"v", Api::kVersion},
      {"ok", false},
      {"error", {{"code", code_name(error.code)}, {"message", error.message}}}};
}

// What is asked for: the row and the request's own fields, or why not.
Result<const Row*> find_row(json& request) {
  if (request.is_discarded()) return invalid("the request is not JSON");
  if (!request.is_object()) return invalid("the request is not a JSON object");
  const auto version = request.find("v");
  if (version == request.end() || !version->is_number_integer()) {
    return invalid("the request lacks its version; add \"v\":1");
  }
  if (*version != Api::kVersion) {
    return unsupported("version " + version->dump() +
                       " is not spoken here; use \"v\":1");
  }
  const auto op = request.find("op");
  if (op == request.end() || !op->is_string()) {
    return invalid("the request names no operation; add \"op\":\"status\"");
  }
  const auto name = op->get<std::string>();
  request.erase("v");
  request.erase("op");
  std::string known;
  for (const auto& row : kOperations) {
    if (name == row.name) return &row;
    known += std::string(" ") + row.name;
  }
  return not_found("no operation \"" + name + "\"; there are:" + known);
}

}  // namespace

std::vector<Api::Operation> Api::operations() {
  std::vector<Operation> out;
  for (const auto& row : kOperations) out.push_back({row.name, row.summary});
  return out;
}

std::string Api::answer(std::string_view text) {
  if (text.size() > kLargestRequest) {
    return json_text(failure(invalid("the request is larger than 64 KiB")));
  }
  json request = json::parse(text, nullptr, /*allow_exceptions=*/false);
  // An "id" comes back as it is, so that a client can have many in flight.
  json id;
  if (request.is_object() && request.contains("id")) {
    if (request["id"].is_primitive()) id = request["id"];
    request.erase("id");
  }
  const auto row = find_row(request);
  json response;
  if (!row) {
    response = failure(row.error());
  } else {
    auto reply = (*row)->answer(service_, request);
    if (reply) {
      response = *std::move(reply);
      response["v"] = kVersion;
      response["ok"] = true;
      if ((*row)->answer == answer_shutdown) stopping_ = true;
    } else {
      response = failure(reply.error());
    }
  }
  if (!id.is_null()) response["id"] = id;
  return json_text(response);
}

}  // namespace thermocline
