#include "daemon/clients.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/keys.h"

namespace thermocline {

Result<Clients::ByKey> Clients::read(const std::string& path) {
  const Error unread = not_found("the list of clients " + path +
                                 " cannot be read; it has lines ROLE KEY NAME");
  std::ifstream file(path);
  if (!file) return unread;
  ByKey fresh;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = path + ":" + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::string role;
    std::string key;
    std::string name;
    std::string more;
    if (!(words >> role) || role.rfind("//", 0) == 0) continue;
    if (!(words >> key >> name) || words >> more) {
      return invalid(where + "not of the form ROLE KEY NAME");
    }
    const auto known = role_named(role);
    if (!known) {
      return invalid(where + "role \"" + role +
                     "\" is neither read-only nor operator");
    }
    if (!is_key(key)) {
      return invalid(where + "\"" + key +
                     "\" is not a public key of 40 characters (Z85)");
    }
    if (!fresh.emplace(key, Caller{*known, name}).second) {
      return invalid(where + "the key of " + name + " is there twice");
    }
  }
  // A directory can be opened, and has no lines.
  if (file.bad() || std::filesystem::is_directory(path)) return unread;
  return fresh;
}

Status Clients::check(const std::string& path) {
  const auto list = read(path);
  return list ? Status() : Status(list.error());
}

Status Clients::load(const std::string& path) {
  auto fresh = read(path);
  if (!fresh) return fresh.error();
  const std::scoped_lock guard(mutex_);
  by_key_ = *std::move(fresh);
  std::erase_if(allowances_, [&](const auto& one) {
    return !one.first.empty() && !by_key_.contains(one.first);
  });
  return {};
}

std::size_t Clients::size() const {
  const std::scoped_lock guard(mutex_);
  return by_key_.size();
}

bool Clients::knows(const std::string& key) const {
  const std::scoped_lock guard(mutex_);
  return by_key_.contains(key);
}

bool Clients::within_rate(const std::string& key, Nanos now) {
  if (rate_ == 0) return true;
  const auto rate = static_cast<double>(rate_);
  auto& allowed =
      allowances_.try_emplace(key, Allowance{rate, now}).first->second;
  const auto passed = std::max<Nanos>(0, now - allowed.filled_at);
  allowed.filled_at = now;
  allowed.left =
      std::min(rate, allowed.left + rate * 1e-9 * static_cast<double>(passed));
  if (allowed.left < 1) return false;
  --allowed.left;
  return true;
}

Caller Clients::caller(const std::string& key, Nanos now, bool& within_rate) {
  const std::scoped_lock guard(mutex_);
  const auto found = by_key_.find(key);
  const bool known = found != by_key_.end();
  within_rate = this->within_rate(known ? key : "", now);
  if (known) return found->second;
  return {Role::kNone, "the client with key " + key};
}

}  // namespace thermocline
