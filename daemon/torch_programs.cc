#include "daemon/torch_programs.h"

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "daemon/paths.h"

extern char** environ;

namespace thermocline {
namespace {

Error cannot_run(const std::string& program, int code) {
  return not_found("cannot run " + program + ": " + std::strerror(code) +
                   "; it is built with ./bootstrap build");
}

// With the program's name before them and a null behind.
std::vector<char*> raw(const std::string& program,
                       std::vector<std::string>& words) {
  words.insert(words.begin(), program);
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  // One thread computes; OpenBLAS reads this when it is loaded, and its idle
  // threads would spin.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  return out;
}

}  // namespace

Error become(const std::string& name, std::vector<std::string> arguments) {
  const std::string program = beside_program("bin/" + name);
  const auto words = raw(program, arguments);
  ::execv(words.front(), words.data());
  return cannot_run(program, errno);
}

Result<std::string> ask_trainer(std::vector<std::string> arguments) {
  const std::string program = beside_program("bin/thermocline-train");
  int ends[2];
  if (::pipe(ends) != 0) return cannot_run(program, errno);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  const auto words = raw(program, arguments);
  pid_t pid = 0;
  const int code = ::posix_spawn(&pid, words.front(), &actions, nullptr,
                                 words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> part;
  for (ssize_t n = 1; code == 0 && n > 0;) {
    n = ::read(ends[0], part.data(), part.size());
    if (n > 0) said.append(part.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno == EINTR) n = 1;
  }
  ::close(ends[0]);
  if (code != 0) return cannot_run(program, code);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return said;
  if (said.empty()) said = "thermocline-train failed";
  return corrupt(said.substr(0, said.find('\n')));
}

}  // namespace thermocline
