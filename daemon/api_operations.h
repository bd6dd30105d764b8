// The operations behind Api's table, by what they are about.
//
// Each takes the request without "v", "op" and "id", refuses fields that it
// does not know, and returns the fields of its response.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/caller.h"
#include "daemon/service.h"

namespace thermocline {

using Reply = Result<nlohmann::json>;

// api_status.cc: what the daemon is and does.
Reply answer_version(Service& service, const nlohmann::json& request);
Reply answer_status(Service& service, const nlohmann::json& request);
Reply answer_targets(Service& service, const nlohmann::json& request);
Reply answer_tiers(Service& service, const nlohmann::json& request);
Reply answer_policies(Service& service, const nlohmann::json& request);
Reply answer_guards(Service& service, const nlohmann::json& request);
Reply answer_metrics(Service& service, const nlohmann::json& request);
Reply answer_plan(Service& service, const nlohmann::json& request);
Reply answer_history(Service& service, const nlohmann::json& request);
Reply answer_subscribe(Service& service, const nlohmann::json& request);

// api_control.cc: what changes it.
Reply answer_attach(Service& service, const nlohmann::json& request);
Reply answer_detach(Service& service, const nlohmann::json& request);
Reply answer_set_policy(Service& service, const nlohmann::json& request);
Reply answer_set_budget(Service& service, const nlohmann::json& request);
Reply answer_switch_guard(Service& service, const nlohmann::json& request);
Reply answer_use_budget(Service& service, const nlohmann::json& request);
Reply answer_leave_budget(Service& service, const nlohmann::json& request);
Reply answer_pause(Service& service, const nlohmann::json& request);
Reply answer_resume(Service& service, const nlohmann::json& request);

// api_expect.cc: what a job knows of its own accesses.
Reply answer_expect(Service& service, const nlohmann::json& request,
                    const Caller& caller);

// api_objects.cc: where memory lies, and why.
Reply answer_placement(Service& service, const nlohmann::json& request);
Reply answer_heat(Service& service, const nlohmann::json& request);
Reply answer_explain(Service& service, const nlohmann::json& request);

}  // namespace thermocline
