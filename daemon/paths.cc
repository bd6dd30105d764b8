#include "daemon/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace thermocline {

std::string default_socket() {
  const auto from = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (auto named = from("THERMOCLINE_SOCKET"); !named.empty()) return named;
  if (geteuid() == 0) return "/run/thermocline/api.sock";
  if (auto runtime = from("XDG_RUNTIME_DIR"); !runtime.empty()) {
    return runtime + "/thermocline/api.sock";
  }
  return "/tmp/thermocline-" + std::to_string(geteuid()) + "/api.sock";
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string beside_program(const std::string& relative) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return relative;
  return (self.parent_path().parent_path() / relative).string();
}

}  // namespace thermocline
