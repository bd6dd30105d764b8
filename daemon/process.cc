#include "daemon/process.h"

#include <sstream>

namespace thermocline {
namespace {

constexpr std::uint64_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD

}  // namespace

Result<Process> parse_process(const std::string& stat) {
  const Error broken = corrupt("unexpected text in /proc/PID/stat");
  Process out;
  const auto open = stat.find('(');
  // The name may itself hold ") R 1": only the last one closes it.
  const auto close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return broken;
  }
  out.name = stat.substr(open + 1, close - open - 1);
  std::istringstream before(stat.substr(0, open));
  std::istringstream after(stat.substr(close + 1));
  std::string state;
  if (!(before >> out.pid) || !(after >> state)) return broken;
  const bool dead = state == "Z" || state == "X";
  std::string word;
  for (int field = 4; field <= 22; ++field) {
    if (!(after >> word)) return broken;
    if (field != 4 && field != 9 && field != 20 && field != 22) continue;
    std::istringstream number(word);
    std::uint64_t value = 0;
    if (!(number >> value)) return broken;
    if (field == 4) out.parent = static_cast<int>(value);
    if (field == 9) out.kernel_thread = (value & kKernelThreadFlag) != 0;
    // Its threads; one that has ended and is the first counts until the last.
    if (field == 20) out.leaderless = dead && value > 1;
    if (field == 22) out.started = value;
  }
  out.zombie = dead && !out.leaderless;
  return out;
}

Result<int> thread_with_memory(Kernel& kernel, const Process& process) {
  if (!process.leaderless) return process.pid;
  const auto name = std::to_string(process.pid);
  const auto threads = kernel.list("proc/" + name + "/task");
  if (!threads) return threads.error();
  for (const auto& thread : *threads) {
    int id = 0;
    std::istringstream(thread) >> id;
    if (id > 0 && id != process.pid) return id;
  }
  return not_found("pid " + name + " has ended");
}

std::optional<std::uint64_t> status_word(const std::string& status,
                                         const std::string& key, int n) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    std::istringstream words(line.substr(key.size() + 1));
    std::uint64_t value = 0;
    for (int i = 0; i < n; ++i) {
      if (!(words >> value)) return std::nullopt;
    }
    return value;
  }
  return std::nullopt;
}

Result<Process> read_process(Kernel& kernel, int pid) {
  const std::string name = "pid " + std::to_string(pid);
  if (pid <= 0) return invalid(name + " cannot be a process");
  const auto stat = kernel.read_file("proc/" + std::to_string(pid) + "/stat");
  if (!stat) {
    if (stat.error().code == Error::Code::kNotFound) {
      return not_found("there is no process with " + name +
                       "; look it up with ps or pgrep");
    }
    return stat.error().within(name);
  }
  return parse_process(*stat);
}

}  // namespace thermocline
