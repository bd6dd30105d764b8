#include "daemon/api.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/answers.h"
#include "daemon/api_operations.h"
#include "daemon/report.h"
#include "traces/strict_json.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::size_t kMostKnown = 64;
constexpr std::size_t kLongestKnown = 256;

enum class Kind : std::uint8_t {
  kAsks,
  kChanges,   // needs the operator role, and is audited
  kShares,    // so, too; but a job's, often: done it is not worth a line
  kConstant,  // is answered alike as long as we run
};

bool changes(Kind kind) {
  return kind == Kind::kChanges || kind == Kind::kShares;
}

struct Row {
  const char* name;
  const char* summary;
  Reply (*answer)(Service&, const json&);
  Kind kind = Kind::kAsks;
  // Instead of `answer`, where it matters who asks.
  Reply (*answer_caller)(Service&, const json&, const Caller&) = nullptr;
};

Reply answer_shutdown(Service&, const json& request) {
  if (!request.empty()) return invalid("shutdown takes no fields");
  return json{{"stopping", true}};
}

constexpr Row kOperations[] = {
    {"version", "version of the daemon and of this API", answer_version,
     Kind::kConstant},
    {"status", "what the daemon does just now", answer_status},
    {"targets", "the managed processes", answer_targets},
    {"attach", "manage a process {pid, weight, minimum_bytes}", answer_attach,
     Kind::kChanges},
    {"detach", "manage it no more {pid}", answer_detach, Kind::kChanges},
    {"tiers", "the machine's memory tiers and their room", answer_tiers},
    {"placement", "where an {address} or a {tensor} lies", answer_placement},
    {"heat", "what is hottest {by, limit, offset, pid}", answer_heat},
    {"explain", "why an {address} or a {tensor} lies there", answer_explain},
    {"plan", "the targets' plans and how they fare {pid}", answer_plan},
    {"policies", "the policies and their options", answer_policies},
    {"set_policy", "decide by another policy {name, options}",
     answer_set_policy, Kind::kChanges},
    {"set_budget", "bytes/s that moves may use {bytes_per_s}",
     answer_set_budget, Kind::kChanges},
    {"guards", "the guards, and what they refused", answer_guards},
    {"switch_guard", "switch one on or off {name, on}", answer_switch_guard,
     Kind::kChanges},
    {"use_budget",
     "leave to copy {name, weight, take, give_back}, as one of several",
     answer_use_budget, Kind::kShares},
    {"leave_budget", "the consumer {name} is done", answer_leave_budget,
     Kind::kShares},
    {"expect", "accesses to its own memory that a job tells of {ranges}",
     nullptr, Kind::kShares, answer_expect},
    {"pause", "move nothing until resume", answer_pause, Kind::kChanges},
    {"resume", "move again", answer_resume, Kind::kChanges},
    {"metrics", "counters in Prometheus' text format", answer_metrics},
    {"history", "what was decided and changed lately", answer_history},
    {"subscribe", "the topics of the events", answer_subscribe,
     Kind::kConstant},
    {"shutdown", "stop the daemon", answer_shutdown, Kind::kChanges},
};

Error no_operation(const std::string& name) {
  std::string known;
  for (const auto& row : kOperations) known += std::string(" ") + row.name;
  return not_found("no operation \"" + name + "\"; there are:" + known);
}

// What is asked for: the row and the request's own fields, or why not.
Result<const Row*> find_row(json& request) {
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
  const auto& name = op->get_ref<const std::string&>();
  const auto* const row =
      std::find_if(std::begin(kOperations), std::end(kOperations),
                   [&](const Row& one) { return name == one.name; });
  if (row == std::end(kOperations)) return no_operation(name);
  request.erase(version);
  request.erase(op);
  return row;
}

Error stranger(const Caller& caller) {
  return permission(caller.name +
                    " is not on the list of clients; have its public key added "
                    "to the service's --clients");
}

bool may(const Row& row, const Caller& caller) {
  return !changes(row.kind) || caller.role == Role::kOperator;
}

Error needs_operator(const Row& row, const Caller& caller) {
  return permission(std::string(row.name) + " needs the operator role, and " +
                    caller.name + " is " + role_name(caller.role));
}

Reply call(const Row& row, Service& service, const json& fields,
           const Caller& caller) {
  if (!may(row, caller)) return needs_operator(row, caller);
  if (row.answer == nullptr) return row.answer_caller(service, fields, caller);
  return row.answer(service, fields);
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

// The "id" of a request, taken off it, as JSON; empty: none.
Result<std::string> take_id(json& request) {
  if (!request.is_object()) return std::string();
  const auto given = request.find("id");
  if (given == request.end()) return std::string();
  const json id = *given;
  request.erase(given);
  if (id.is_null()) return std::string();
  if (id.is_number() || id.is_string()) return json_text(id);
  return invalid("an \"id\" is a number or text, which comes back as it is");
}

// To the text of a response, which is an object and not an empty one.
void add_id(std::string& text, std::string_view id) {
  text.insert(text.size() - 1, ",\"id\":");
  text.insert(text.size() - 1, id);
}

// A request's text: all before its end, and before its id where that is a plain
// number and the last member.
struct Split {
  std::string_view head;
  std::string_view id;  // empty: none, or another kind
};
Split split_id(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  if (text.empty() || text.back() != '}') return {};
  const auto body = text.substr(0, text.size() - 1);
  const auto comma = body.rfind(',');
  if (comma == body.npos) return {body, {}};
  for (const std::string_view name : {",\"id\":", ", \"id\": "}) {
    if (!body.substr(comma).starts_with(name)) continue;
    const auto id = body.substr(comma + name.size());
    const bool number = !id.empty() && id.size() <= kMostDigits &&
                        (id.front() != '0' || id.size() == 1) &&
                        id.find_first_not_of("0123456789") == id.npos;
    if (number) return {body.substr(0, comma), id};
  }
  return {body, {}};
}

}  // namespace

std::vector<Api::Operation> Api::operations() {
  std::vector<Operation> out;
  for (const auto& row : kOperations) {
    out.push_back({row.name, row.summary, changes(row.kind)});
  }
  return out;
}

// What a request says.
struct Api::Asked {
  std::size_t row = 0;  // of kOperations
  const json& fields;
  std::string_view id;  // as JSON; empty: none
};

void Api::end_turn() {
  in_turn_ = false;
  of_this_turn_.clear();
}

std::string Api::response_to(const Asked& asked, const Caller& caller) {
  const auto& row = kOperations[asked.row];
  auto reply = call(row, service_, asked.fields, caller);
  json response;
  if (reply) {
    response = *std::move(reply);
    response["v"] = kVersion;
    response["ok"] = true;
    if (row.answer == answer_shutdown) stopping_ = true;
  } else {
    response = refusal(reply.error());
  }
  const bool quiet = row.kind == Kind::kShares && response["ok"] == true;
  if (changes(row.kind) && audit_ && !quiet) {
    audit_(audit_line(caller, row, asked.fields, response));
  }
  return json_text(response);
}

void Api::reply_to(const Asked& asked, const Caller& caller, std::string& out) {
  const auto kind = kOperations[asked.row].kind;
  if (changes(kind)) of_this_turn_.clear();
  auto& kept = kind == Kind::kConstant ? constants_ : of_this_turn_;
  const bool keep = asked.fields.empty() && (kind == Kind::kConstant ||
                                             (kind == Kind::kAsks && in_turn_));
  if (const auto at = kept.find(asked.row); keep && at != kept.end()) {
    out.assign(at->second);
  } else {
    out = response_to(asked, caller);
    if (keep) kept.emplace(asked.row, out);
  }
  if (!asked.id.empty()) add_id(out, asked.id);
}

// Escapes and a second "id" would let two texts that differ look alike.
void Api::know(std::string_view text, const Asked& asked) {
  if (!asked.fields.empty() || text.size() > kLongestKnown) return;
  const auto [head, id] = split_id(text);
  if (head.empty() || id.empty() != asked.id.empty() ||
      head.find("id\"") != head.npos || head.find('\\') != head.npos) {
    return;
  }
  if (known_.size() == kMostKnown) known_.clear();
  known_.emplace(head, asked.row);
}

std::string Api::answer(std::string_view text, const Caller& caller) {
  std::string out;
  answer(text, caller, out);
  return out;
}

void Api::answer(std::string_view text, const Caller& caller,
                 std::string& out) {
  static const json kNone = json::object();
  if (caller.role == Role::kNone) {
    out = json_text(refusal(stranger(caller)));
    return;
  }
  if (text.size() > kLargestRequest) {
    out = json_text(refusal(invalid("the request is larger than 64 KiB")));
    return;
  }
  if (text.size() <= kLongestKnown) {
    const auto [head, id] = split_id(text);
    if (const auto at = known_.find(head); at != known_.end()) {
      return reply_to({at->second, kNone, id}, caller, out);
    }
  }
  auto fields = parse_json(text);
  if (!fields) {
    const bool none = fields.error().code == Error::Code::kCorrupt;
    out = json_text(
        refusal(invalid((none ? "the request is not JSON: " : "the request: ") +
                        fields.error().message)));
    return;
  }
  // It comes back as it is, so that a client can have many in flight.
  const auto id = take_id(*fields);
  const auto row = id ? find_row(*fields) : Result<const Row*>(id.error());
  if (!row) {
    out = json_text(refusal(row.error()));
    if (id && !id->empty()) add_id(out, *id);
    return;
  }
  const Asked asked{static_cast<std::size_t>(*row - kOperations), *fields, *id};
  know(text, asked);
  reply_to(asked, caller, out);
}

}  // namespace thermocline
