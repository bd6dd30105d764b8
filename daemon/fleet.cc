#include "daemon/fleet.h"

#include <set>
#include <sstream>

#include "daemon/keys.h"
#include "daemon/remote_sockets.h"

namespace thermocline {
namespace {

Result<FleetHost> read_host(const std::string& line, const std::string& keys) {
  std::istringstream words(line);
  FleetHost out;
  std::string more;
  words >> out.name;
  if (!(words >> out.access.socket)) {
    return invalid("not of the form NAME SOCKET or NAME tcp://HOST:PORT KEY");
  }
  words >> out.access.server_key;
  if (words >> more) return invalid("\"" + more + "\" is a word too many");
  const auto& socket = out.access.socket;
  if (socket.rfind("tcp://", 0) != 0) {
    if (out.access.server_key.empty()) return out;
    return invalid("the Unix socket " + socket + " needs no key");
  }
  if (!events_address(socket)) {
    return invalid(socket + " is not tcp://HOST:PORT");
  }
  if (!is_key(out.access.server_key)) {
    return invalid(socket +
                   " needs the service's public key (its public.key) as the "
                   "third word, 40 characters");
  }
  out.access.keys = keys;
  return out;
}

}  // namespace

Result<std::vector<FleetHost>> read_fleet(std::istream& from,
                                          const std::string& file,
                                          const std::string& keys) {
  std::vector<FleetHost> out;
  std::set<std::string> names;
  std::string line;
  for (int number = 1; std::getline(from, line); ++number) {
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line.compare(begin, 2, "//") == 0) continue;
    const auto where = file + ":" + std::to_string(number);
    auto host = read_host(line, keys);
    if (!host) return host.error().within(where);
    if (!names.insert(host->name).second) {
      return invalid(where + ": " + host->name + " is there twice");
    }
    out.push_back(*std::move(host));
  }
  if (out.empty()) {
    return invalid(file +
                   " names nobody; it has lines NAME SOCKET or NAME "
                   "tcp://HOST:PORT KEY");
  }
  return out;
}

}  // namespace thermocline
