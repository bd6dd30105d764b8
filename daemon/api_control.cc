// Operations that change what the daemon does.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "daemon/api_operations.h"
#include "daemon/report.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Nothing {
  void fields(auto&) {}
};

struct Pid {
  std::int64_t pid = 0;
  void fields(auto& f) {
    f("pid", pid, std::int64_t{1}, std::int64_t{1} << 22, "process");
  }
};

struct Attach : Pid {
  double weight = 1;
  std::int64_t minimum_bytes = 0;
  void fields(auto& f) {
    Pid::fields(f);
    f("weight", weight, 1e-6, 1e6, "share of fast memory among targets");
    f("minimum_bytes", minimum_bytes, std::int64_t{0}, std::int64_t{1} << 50,
      "of it, guaranteed");
  }
};

struct Rate {
  std::int64_t bytes_per_s = -1;
  void fields(auto& f) {
    f("bytes_per_s", bytes_per_s, std::int64_t{0}, std::int64_t{1} << 50,
      "bytes a second that moves may use; 0: none");
  }
};

struct Switch {
  std::string name;
  bool on = false;
  void fields(auto& f) {
    f("name", name, "of the guard");
    f("on", on, "whether it is to hold moves back");
  }
};

struct Consumer {
  std::string name;
  void fields(auto& f) { f("name", name, "of the consumer"); }
};

struct Use : Consumer {
  double weight = 1;
  std::int64_t take = 0;
  std::int64_t give_back = 0;
  void fields(auto& f) {
    Consumer::fields(f);
    f("weight", weight, 1e-3, 1e3, "share of the budget; moves have 1");
    f("take", take, std::int64_t{0}, std::int64_t{1} << 50,
      "bytes that it would copy");
    f("give_back", give_back, std::int64_t{0}, std::int64_t{1} << 50,
      "bytes that it was granted and has not copied");
  }
};

Error lacks_name() {
  return invalid("needs a consumer; add \"name\":\"checkpoints of 42\"");
}

Error lacks_pid() { return invalid("needs a process; add \"pid\":NUMBER"); }

Result<int> read_pid(const json& request) {
  const auto read = read_options<Pid>(request);
  if (!read) return read.error();
  if (read->pid == 0) return lacks_pid();
  return static_cast<int>(read->pid);
}

}  // namespace

Reply answer_attach(Service& service, const json& request) {
  const auto read = read_options<Attach>(request);
  if (!read) return read.error();
  if (read->pid == 0) return lacks_pid();
  const int pid = static_cast<int>(read->pid);
  if (pid == ::getpid()) {
    return invalid(
        "pid " + std::to_string(pid) +
        " is this thermoclined itself; its memory stays where it is");
  }
  std::optional<FastShare> share;
  if (request.contains("weight") || request.contains("minimum_bytes")) {
    share = FastShare{read->weight, static_cast<Bytes>(read->minimum_bytes)};
  }
  if (auto status = service.attach(pid, share); !status) return status.error();
  return json{
      {"target", to_json(service.find(pid)->report(), service.machine())}};
}

Reply answer_detach(Service& service, const json& request) {
  const auto pid = read_pid(request);
  if (!pid) return pid.error();
  if (auto status = service.detach(*pid); !status) return status.error();
  return json{{"pid", *pid}};
}

Reply answer_set_policy(Service& service, const json& request) {
  json options = json::object();
  json rest = request;
  if (const auto at = rest.find("options"); at != rest.end()) {
    if (!at->is_object()) return invalid("\"options\" must be a JSON object");
    options = *at;
    rest.erase("options");
  }
  const auto at = rest.find("name");
  if (at == rest.end() || !at->is_string()) {
    return invalid("needs a policy; add \"name\":\"hottest_first\"");
  }
  const auto name = at->get<std::string>();
  rest.erase("name");
  if (auto none = read_options<Nothing>(rest); !none) return none.error();
  if (auto status = service.set_policy(name, options.dump()); !status) {
    return status.error();
  }
  return json{{"policy", name}};
}

Reply answer_set_budget(Service& service, const json& request) {
  const auto rate = read_options<Rate>(request);
  if (!rate) return rate.error();
  if (rate->bytes_per_s < 0) {
    return invalid("needs a rate; add \"bytes_per_s\":NUMBER");
  }
  service.set_budget(static_cast<Bytes>(rate->bytes_per_s));
  return json{{"budget_bytes_per_s", rate->bytes_per_s}};
}

Reply answer_switch_guard(Service& service, const json& request) {
  const auto wanted = read_options<Switch>(request);
  if (!wanted) return wanted.error();
  if (wanted->name.empty()) {
    return invalid("needs a guard; add \"name\":\"thrashing\"");
  }
  if (!request.contains("on")) {
    return invalid("needs to know which way; add \"on\":true or false");
  }
  if (auto status = service.switch_guard(wanted->name, wanted->on); !status) {
    return status.error();
  }
  return json{{"name", wanted->name}, {"on", wanted->on}};
}

Reply answer_use_budget(Service& service, const json& request) {
  const auto use = read_options<Use>(request);
  if (!use) return use.error();
  if (use->name.empty()) return lacks_name();
  const auto grant = service.leases().use(use->name, use->weight,
                                          static_cast<Bytes>(use->take),
                                          static_cast<Bytes>(use->give_back));
  if (!grant) return grant.error();
  if (grant->joined) service.record("\"" + use->name + "\" shares the budget");
  return json{{"granted", grant->bytes},
              {"wait_ns", grant->wait},
              {"silence_ns", BudgetLeases::kSilence}};
}

Reply answer_leave_budget(Service& service, const json& request) {
  const auto who = read_options<Consumer>(request);
  if (!who) return who.error();
  if (who->name.empty()) return lacks_name();
  if (auto status = service.leases().leave(who->name); !status) {
    return status.error();
  }
  service.record("\"" + who->name + "\" shares the budget no more");
  return json{{"name", who->name}};
}

Reply answer_pause(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  service.pause(true);
  return json{{"paused", true}};
}

Reply answer_resume(Service& service, const json& request) {
  if (auto none = read_options<Nothing>(request); !none) return none.error();
  service.pause(false);
  return json{{"paused", false}};
}

}  // namespace thermocline
