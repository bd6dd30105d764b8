// A fleet: many services, by a file that names them.
//
// One a line: NAME SOCKET, or NAME tcp://HOST:PORT KEY, where KEY is the public
// key of that service (thermocline keygen). Lines that are empty or begin with
// "//" are skipped ("#" may be in a key). Thread safety: no state.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "daemon/client.h"

namespace thermocline {

struct FleetHost {
  std::string name;
  ServiceAddress access;
};

/// `keys`: the directory of our own pair; `file`: for messages. Errors:
/// kInvalid, naming the line: another form, no key for TCP, a name that is
/// there twice, nobody at all.
Result<std::vector<FleetHost>> read_fleet(std::istream& from,
                                          const std::string& file,
                                          const std::string& keys);

}  // namespace thermocline
