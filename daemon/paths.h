// Where things lie: the sockets of a running service, and the libraries that
// are installed beside this program.
//
// Thread safety: reads the environment; call before others change it.
#pragma once

#include <string>

namespace thermocline {

/// $THERMOCLINE_SOCKET, else /run/thermocline/api.sock for root, else
/// $XDG_RUNTIME_DIR/thermocline/api.sock, else /tmp/thermocline-UID/api.sock.
std::string default_socket();

/// The directory of a path ("." if it has none).
std::string directory_of(const std::string& path);

/// A file installed beside this program: "bin/thermoclined",
/// "lib/thermocline_observer.so", from the program's own place in bin/.
std::string beside_program(const std::string& relative);

}  // namespace thermocline
