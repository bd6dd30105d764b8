#include "daemon/target_rules.h"

#include <pwd.h>

#include <nlohmann/json.hpp>

#include "tracer/words.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Said {
  std::string cgroup;
  std::string exe;
  std::string user;
  std::int64_t least = std::int64_t{64} << 20;
  bool children = true;
  double weight = 1;
  std::int64_t minimum = 0;
  void fields(auto& f) {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    f("cgroup", cgroup, "below the hierarchy's root; those in it, too");
    f("exe", exe, "a whole path, or its last part");
    f("user", user, "name or number");
    f("least", least, std::int64_t{0}, kMost, "bytes resident");
    f("children", children, "of those that are managed by this rule, too");
    f("weight", weight, 1e-6, 1e6, "share of fast memory among targets");
    f("minimum", minimum, std::int64_t{0}, kMost, "bytes of it, guaranteed");
  }
};

Result<std::uint32_t> user_id(const std::string& user) {
  std::uint64_t number = 0;
  if (read_number(user, number) && number <= UINT32_MAX) {
    return static_cast<std::uint32_t>(number);
  }
  if (const auto* known = ::getpwnam(user.c_str())) return known->pw_uid;
  return not_found("there is no user \"" + user + "\"");
}

Result<TargetRule> rule_of(json one) {
  if (!one.is_object()) return invalid("not a JSON object");
  if (const auto user = one.find("user");
      user != one.end() && user->is_number_unsigned()) {
    *user = user->dump();
  }
  const auto said = read_options<Said>(one);
  if (!said) return said.error();
  TargetRule rule;
  rule.cgroup = said->cgroup;
  rule.exe = said->exe;
  rule.least = static_cast<Bytes>(said->least);
  rule.children = said->children;
  rule.share = {said->weight, static_cast<Bytes>(said->minimum)};
  if (!said->user.empty()) {
    const auto id = user_id(said->user);
    if (!id) return id.error();
    rule.user = *id;
  }
  if (auto status = check_rule(rule); !status) return status.error();
  return rule;
}

}  // namespace

Result<std::vector<TargetRule>> target_rules(const json& said) {
  if (!said.is_array()) {
    return invalid(R"("targets" is not a list of rules, [{"exe": "python3"}])");
  }
  std::vector<TargetRule> out;
  for (const auto& one : said) {
    auto rule = rule_of(one);
    if (!rule) {
      return rule.error().within("rule " + std::to_string(out.size() + 1) +
                                 " of \"targets\"");
    }
    out.push_back(*std::move(rule));
  }
  return out;
}

}  // namespace thermocline
