#include "daemon/running.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include "daemon/loop.h"
#include "daemon/printable.h"
#include "daemon/reload.h"
#include "daemon/state_keeper.h"
#include "daemon/state_pool.h"

namespace thermocline {
namespace {

Status tell_ready(int fd) {
  if (fd < 0) return {};
  const bool told = ::write(fd, "ready\n", 6) == 6;
  ::close(fd);
  if (told) return {};
  return io("--ready-fd " + std::to_string(fd) + " cannot be written");
}

std::int64_t wall_clock_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The pool and what is in it; what cannot be understood is set aside.
struct Kept {
  StatePool pool;
  State state;
};

Result<Kept> open_state(const std::string& path) {
  for (bool again = false;; again = true) {
    auto opened = StatePool::open(path);
    if (!opened) return opened.error();
    if (!opened->notice.empty()) spdlog::warn(opened->notice);
    if (opened->bytes.empty()) return Kept{std::move(opened->pool), {}};
    auto state = state_from(opened->bytes);
    if (state) return Kept{std::move(opened->pool), *std::move(state)};
    if (again || state.error().code != Error::Code::kCorrupt) {
      return state.error().within("--state " + path);
    }
    { const StatePool closed = std::move(opened->pool); }
    const auto name = set_aside(path);
    if (!name) return name.error();
    spdlog::warn("{} in {}: it is now {}, and a new one was begun",
                 state.error().message, path, *name);
  }
}

// Each client of the API is a descriptor. What is started later by us does not
// use select(), for which the soft limit is low.
void allow_many_clients() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

class Reloader {
 public:
  Reloader(const RunningService& running, Server& server)
      : running_(running), server_(server), now_(running.settings) {}
  void operator()() {
    auto fresh = running_.reread();
    if (!fresh) return refuse(fresh.error());
    auto said = apply_changes(now_, *fresh, running_.kernel.page_bytes(),
                              running_.service, server_);
    if (!said) return refuse(said.error());
    now_ = *std::move(fresh);
    spdlog::set_level(spdlog::level::from_str(now_.log_level));
    for (const auto& line : *said) spdlog::info("reload: {}", line);
    spdlog::info("reload: {} changes", said->size());
    running_.service.record("the configuration was read anew");
  }

 private:
  static void refuse(const Error& why) {
    spdlog::error("reload refused, all stays as it was: {}", why.message);
  }
  const RunningService& running_;
  Server& server_;
  Settings now_;
};

}  // namespace

Status serve(const RunningService& running) {
  const auto& settings = running.settings;
  auto& service = running.service;
  allow_many_clients();
  // First of all: it forks, so no thread may run yet, and a second daemon on
  // the same state must go.
  std::optional<Kept> kept;
  if (!settings.state.empty()) {
    auto opened = open_state(settings.state);
    if (!opened) return opened.error();
    kept.emplace(*std::move(opened));
  }
  auto server = Server::open(settings.server);
  if (!server) return server.error();
  std::optional<StateKeeper> keeper;
  if (kept) {
    keeper.emplace(
        running.kernel, service, std::move(kept->state),
        [&kept](std::string_view bytes) { return kept->pool.write(bytes); },
        wall_clock_s, StateKeeper::Options{});
    for (const auto& line : keeper->resume()) spdlog::info("state: {}", line);
  }
  auto sources = Sources::open(settings.source);
  if (!sources) return sources.error();
  if (auto status = sources->follow(service.pids()); !status) return status;
  std::optional<ObserverServer> observer;
  if (!settings.observer.empty()) {
    auto listening = ObserverServer::listen(settings.observer);
    if (!listening) return listening.error();
    observer = *std::move(listening);
  }
  Reloader reload(running, *server);
  Loop loop(
      {running.kernel, service, *server, *sources,
       observer ? &*observer : nullptr, running.signals,
       // Processes and clients name themselves: no line may look like two.
       [](const std::string& line) { spdlog::info(printable(line)); },
       [](const std::string& line) { spdlog::warn(printable(line)); },
       [&reload] { reload(); },
       [&keeper] {
         if (keeper) keeper->window_ended();
       }},
      {settings.interval_ms * 1'000'000, settings.exit_with_target,
       settings.source != "none"});
  if (auto status = tell_ready(running.invocation.ready_fd); !status) {
    return status;
  }
  spdlog::info(
      "serving on {}{}, policy {}, {} tiers, {} targets", settings.server.path,
      settings.server.listen.empty() ? "" : " and " + settings.server.listen,
      settings.service.policy, service.machine().tiers.size(),
      service.managed().size());
  auto ended = loop.run();
  if (keeper) keeper->finish();
  return ended;
}

}  // namespace thermocline
