// Caller: who sent a request, and what they may do.
//
// Thread safety: plain values. `peer` lives as long as the request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace thermocline {

enum class Role : std::uint8_t {
  kNone,      // may ask nothing; gets told so
  kReadOnly,  // may ask what is, and subscribe
  kOperator,  // may also change it
};

struct Caller {
  Role role = Role::kNone;
  std::string name;  // for the log and for messages; not to be trusted further
  // Who connected, as the kernel says; 0: over TCP. Asked for when an operation
  // needs it: it takes a twentieth of an answer's time.
  std::function<int()> peer = {};
  int pid() const { return peer ? peer() : 0; }
};

/// Who opens the Unix socket is its owner (or root): the file's mode sees to
/// that.
inline Caller owner(std::function<int()> peer) {
  return {Role::kOperator, "owner", std::move(peer)};
}
inline Caller owner(int pid = 0) {
  return owner([pid] { return pid; });
}

constexpr const char* role_name(Role role) {
  switch (role) {
    case Role::kNone: return "none";
    case Role::kReadOnly: return "read-only";
    case Role::kOperator: return "operator";
  }
  return "none";
}

/// The role of that name, but for "none".
constexpr std::optional<Role> role_named(std::string_view name) {
  for (const Role role : {Role::kReadOnly, Role::kOperator}) {
    if (name == role_name(role)) return role;
  }
  return std::nullopt;
}

}  // namespace thermocline
