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
  bool changes = false;
};

Reply answer_shutdown(Service&, const json& request) {
  if (!request.empty()) return invalid("shutdown takes no fields");
  return json{{"stopping", true}};
}

constexpr Row kOperations[] = {
    {"version", "version of the daemon and of this API", answer_version},
    {"status", "what the daemon does just now", answer_status},
    {"targets", "the managed processes", answer_targets},
    {"attach", "manage a process {pid, weight, minimum_bytes}", answer_attach,
     true},
    {"detach", "manage it no more {pid}", answer_detach, true},
    {"tiers", "the machine's memory tiers and their room", answer_tiers},
    {"placement", "where an {address} or a {tensor} lies", answer_placement},
    {"heat", "what is hottest {by, limit, offset, pid}", answer_heat},
    {"explain", "why an {address} or a {tensor} lies there", answer_explain},
    {"plan", "the targets' plans and how they fare {pid}", answer_plan},
    {"policies", "the policies and their options", answer_policies},
    {"set_policy", "decide by another policy {name, options}",
     answer_set_policy, true},
    {"set_budget", "bytes/s that moves may use {bytes_per_s}",
     answer_set_budget, true},
    {"pause", "move nothing until resume", answer_pause, true},
    {"resume", "move again", answer_resume, true},
    {"metrics", "counters in Prometheus' text format", answer_metrics},
    {"history", "what was decided and changed lately", answer_history},
    {"subscribe", "the topics of the events", answer_subscribe},
    {"shutdown", "stop the daemon", answer_shutdown, true},
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

Error stranger(const Caller& caller) {
  return permission(caller.name +
                    " is not on the list of clients; have its public key added "
                    "to the service's --clients");
}

bool may(const Row& row, const Caller& caller) {
  return !row.changes || caller.role == Role::kOperator;
}

Error needs_operator(const Row& row, const Caller& caller) {
  return permission(std::string(row.name) + " needs the operator role, and " +
                    caller.name + " is " + role_name(caller.role));
}

std::string audit_line(const Caller& caller, const Row& row,
                       const json& request, const json& response) {
  constexpr std::size_t kMost = 512;
  auto what = json_text(request);
  if (what.size() > kMost) what.replace(kMost, what.npos, "...");
  return caller.name + " asked to " + row.name + " " + what + ": " +
         (response["ok"] == true
              ? "done"
              : response["error"]["message"].get<std::string>());
}

}  // namespace

std::vector<Api::Operation> Api::operations() {
  std::vector<Operation> out;
  for (const auto& row : kOperations) {
    out.push_back({row.name, row.summary, row.changes});
  }
  return out;
}

std::string Api::answer(std::string_view text, const Caller& caller) {
  if (caller.role == Role::kNone) return json_text(failure(stranger(caller)));
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
    auto reply = may(**row, caller) ? (*row)->answer(service_, request)
                                    : Reply(needs_operator(**row, caller));
    if (reply) {
      response = *std::move(reply);
      response["v"] = kVersion;
      response["ok"] = true;
      if ((*row)->answer == answer_shutdown) stopping_ = true;
    } else {
      response = failure(reply.error());
    }
    if ((*row)->changes && audit_) {
      audit_(audit_line(caller, **row, request, response));
    }
  }
  if (!id.is_null()) response["id"] = id;
  return json_text(response);
}

}  // namespace thermocline
