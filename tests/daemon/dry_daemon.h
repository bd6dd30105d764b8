// What starts a daemon that moves nothing, with windows of 50 ms, for the tests
// that look at it from outside; it is ready when Child::ready() says so.
#pragma once

#include <string>
#include <vector>

namespace thermocline {

inline std::vector<std::string> dry_daemon(
    const std::string& socket, const std::vector<std::string>& more) {
  std::vector<std::string> out{THERMOCLINED, "--mover",  "dry",
                               "--interval", "50",       "--ready-fd",
                               "9",          "--socket", socket};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace thermocline
