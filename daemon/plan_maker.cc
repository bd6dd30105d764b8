#include "daemon/plan_maker.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kNice = 10;

json answer_of(Policy& policy, const PlanBasis& basis, const Room& room) {
  const auto failed = [](const Error& error) {
    return json{{"code", static_cast<int>(error.code)},
                {"message", error.message}};
  };
  const auto plan = policy.plan(basis.iteration, room);
  if (!plan) return failed(plan.error());
  if (!*plan) {
    return failed(
        unsupported("this policy makes none; `thermocline list` says "
                    "which do: autotm, sentinel, next_use, ..."));
  }
  if ((*plan)->keeps_copies) {
    return failed(
        unsupported("this plan keeps copies in slow memory, and pages that "
                    "move leave none behind: leave keep_copies off"));
  }
  if (auto ok = check(**plan, basis.iteration, room); !ok) {
    return failed(ok.error().within("the policy's plan"));
  }
  json moves = json::array();
  for (const Copy& copy : (*plan)->moves) {
    moves.push_back({copy.tensor, copy.to, copy.start, copy.needed});
  }
  return {{"birth", (*plan)->birth}, {"moves", moves}, {"note", (*plan)->note}};
}

void write_all(int file, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto some = ::write(file, text.data() + at, text.size() - at);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) ::_exit(1);
    at += static_cast<std::size_t>(some);
  }
}

std::string read_all(int file) {
  const auto bytes = ::lseek(file, 0, SEEK_END);
  std::string out(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
  std::size_t at = 0;
  while (at < out.size()) {
    const auto some =
        ::pread(file, out.data() + at, out.size() - at, static_cast<off_t>(at));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    at += static_cast<std::size_t>(some);
  }
  out.resize(at);
  return out;
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
      write_all(answer,
                answer_of(policy, basis, room)
                    .dump(-1, ' ', false, json::error_handler_t::replace));
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

std::optional<Result<Plan>> PlanMaker::poll() {
  if (pid_ <= 0) return {};
  int status = 0;
  const int ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return {};
  pid_ = -1;
  return read_answer(status);
}

Result<Plan> PlanMaker::read_answer(int status) const {
  if (WIFSIGNALED(status)) {
    return io("its planner was ended by signal " +
              std::to_string(WTERMSIG(status)));
  }
  const auto answer = json::parse(read_all(answer_), nullptr, false);
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

}  // namespace thermocline
