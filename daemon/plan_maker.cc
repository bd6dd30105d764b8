#include "daemon/plan_maker.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kNice = 10;

json failed(const Error& error) {
  return {{"code", static_cast<int>(error.code)}, {"message", error.message}};
}

json as_json(const Plan& plan, const PlanBasis& basis, const Room& room) {
  if (plan.keeps_copies) {
    return failed(
        unsupported("this plan keeps copies in slow memory, and pages that "
                    "move leave none behind: leave keep_copies off"));
  }
  if (auto ok = check(plan, basis.iteration, room); !ok) {
    return failed(ok.error().within("the policy's plan"));
  }
  json moves = json::array();
  for (const Copy& copy : plan.moves) {
    moves.push_back({copy.tensor, copy.to, copy.start, copy.needed});
  }
  return {{"birth", plan.birth}, {"moves", moves}, {"note", plan.note}};
}

json answer_of(Policy& policy, const PlanBasis& basis, const Room& room) {
  const auto plan = policy.plan(basis.iteration, room);
  if (!plan) return failed(plan.error());
  if (!*plan) {
    return failed(
        unsupported("this policy makes none; `thermocline list` says "
                    "which do: autotm, sentinel, next_use, ..."));
  }
  return as_json(**plan, basis, room);
}

void write_line(int file, const json& answer) {
  const auto text =
      answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::size_t at = 0;
  while (at < text.size()) {
    const auto some = ::write(file, text.data() + at, text.size() - at);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) ::_exit(1);
    at += static_cast<std::size_t>(some);
  }
}

std::string read_from(int file, std::size_t start) {
  struct stat now {};
  if (::fstat(file, &now) != 0) return {};
  const auto end = static_cast<std::size_t>(now.st_size);
  std::string out(end > start ? end - start : 0, '\0');
  std::size_t at = 0;
  while (at < out.size()) {
    const auto some = ::pread(file, out.data() + at, out.size() - at,
                              static_cast<off_t>(start + at));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    at += static_cast<std::size_t>(some);
  }
  out.resize(at);
  return out;
}

Result<Plan> plan_of(const std::string& line) {
  const auto answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) return io("its planner failed");
  if (answer.contains("message")) {
    return Error{static_cast<Error::Code>(answer["code"].get<int>()),
                 answer["message"].get<std::string>()};
  }
  Plan plan;
  plan.birth = answer["birth"].get<std::vector<TierId>>();
  plan.note = answer["note"].get<std::string>();
  for (const auto& move : answer["moves"]) {
    plan.moves.push_back({move[0].get<std::size_t>(), move[1].get<TierId>(),
                          move[2].get<std::size_t>(),
                          move[3].get<std::size_t>()});
  }
  return plan;
}

}  // namespace

Result<std::unique_ptr<PlanMaker>> PlanMaker::start(Policy& policy,
                                                    const PlanBasis& basis,
                                                    const Room& room) {
  const int answer = ::memfd_create("thermocline-plan", MFD_CLOEXEC);
  if (answer < 0) {
    return io(std::string("no memory for a plan: ") + std::strerror(errno));
  }
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(answer);
    return io(std::string("no process for planning: ") + std::strerror(error));
  }
  if (pid == 0) {
    // It has no work without us.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpriority(PRIO_PROCESS, 0, kNice);
    try {
      Room asking = room;
      asking.so_far = [&](const Plan& plan) {
        const json found = as_json(plan, basis, room);
        if (!found.contains("message")) write_line(answer, found);
      };
      write_line(answer, answer_of(policy, basis, asking));
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  return std::unique_ptr<PlanMaker>(new PlanMaker(pid, answer));
}

PlanMaker::~PlanMaker() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::close(answer_);
}

// The last whole line that is new; empty: none.
std::string PlanMaker::newest() {
  std::string text = read_from(answer_, read_);
  const auto end = text.rfind('\n');
  if (end == std::string::npos) return {};
  read_ += end + 1;
  text.resize(end);
  const auto before = text.rfind('\n');
  return before == std::string::npos ? text : text.substr(before + 1);
}

std::optional<Result<Plan>> PlanMaker::poll() {
  if (over()) return {};
  int status = 0;
  const int ended = ::waitpid(pid_, &status, WNOHANG);
  const std::string line = newest();
  if (ended == 0 || (ended < 0 && errno == EINTR)) {
    if (line.empty()) return {};
    return plan_of(line);
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return io("its planner was ended by signal " +
              std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) return io("its planner failed");
  if (line.empty() && read_ > 0) return {};  // it was read before its end
  return plan_of(line);
}

}  // namespace thermocline
