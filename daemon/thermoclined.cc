// thermoclined: manages the memory of processes until told to stop.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "daemon/loop.h"
#include "daemon/own_memory.h"
#include "daemon/report.h"
#include "daemon/settings.h"
#include "daemon/stop_signals.h"

namespace thermocline {
namespace {

Status check_files(const Settings& settings) {
  if (!settings.agent.empty() && ::access(settings.agent.c_str(), R_OK) != 0) {
    return not_found("agent file " + settings.agent +
                     " cannot be read; make one with thermocline train -o " +
                     settings.agent);
  }
  if (settings.report.empty()) return {};
  // Found now rather than at the end; what is there stays until then.
  std::ofstream file(settings.report, std::ios::app);
  if (file) return {};
  return io("report file " + settings.report +
            " cannot be written; choose another --report");
}

// A plan lives from what the job's observer tells.
Status check_plan(const Settings& settings) {
  if (settings.plan.empty() || !settings.observer.empty()) return {};
  return invalid(
      "--plan needs to hear the job's tensors: give --observer PATH "
      "and start the job with the observer preloaded, or use "
      "thermocline run --plan");
}

Result<Machine> find_machine(const Settings& settings) {
  return settings.machine.empty() ? Machine::from_kernel("/")
                                  : Machine::load(settings.machine);
}

Result<std::unique_ptr<Service>> make_service(Kernel& kernel,
                                              const Settings& settings) {
  const auto region = settings.service.target.region_bytes;
  if (!std::has_single_bit(region) || region < kernel.page_bytes() ||
      region > Bytes{1} << 30) {
    return invalid("--region " + std::to_string(region) +
                   " is not a power of two from a page to 1G");
  }
  if (auto status = check_files(settings); !status) return status.error();
  if (auto status = check_plan(settings); !status) return status.error();
  auto machine = find_machine(settings);
  if (!machine) return machine.error();
  // A machine that is only described may have nodes that are not there.
  if (settings.service.mover != "dry" && !prefer_slowest(*machine)) {
    spdlog::warn("own memory may lie in fast memory: {}", std::strerror(errno));
  }
  auto options = settings.service;
  if (!settings.plan.empty()) {
    auto basis = load_plan_basis(settings.plan, *machine);
    if (!basis) return basis.error();
    for (const auto& line : (*basis)->iteration.notes()) {
      spdlog::info("{}: {}", settings.plan, line);
    }
    options.plan = *std::move(basis);
  }
  auto service = Service::make(kernel, *std::move(machine), std::move(options),
                               make_policy);
  if (!service) return service.error();
  for (const int pid : settings.pids) {
    if (auto status = (*service)->attach(pid); !status) return status.error();
  }
  return service;
}

Status tell_ready(int fd) {
  if (fd < 0) return {};
  const bool told = ::write(fd, "ready\n", 6) == 6;
  ::close(fd);
  if (told) return {};
  return io("--ready-fd " + std::to_string(fd) + " cannot be written");
}

Status write_report(const Settings& settings, const Service& service) {
  const auto text = final_report(service, own_usage()) + "\n";
  if (settings.json) std::fputs(text.c_str(), stdout);
  if (settings.report.empty()) return {};
  std::ofstream file(settings.report, std::ios::trunc);
  file << text;
  if (file.flush()) return {};
  return io("report file " + settings.report + " cannot be written");
}

Status serve(const Settings& settings, Kernel& kernel, Service& service,
             int signals) {
  auto server = Server::open(settings.socket);
  if (!server) return server.error();
  auto sources = Sources::open(settings.source);
  if (!sources) return sources.error();
  if (auto status = sources->follow(service.pids()); !status) return status;
  std::optional<ObserverServer> observer;
  if (!settings.observer.empty()) {
    auto listening = ObserverServer::listen(settings.observer);
    if (!listening) return listening.error();
    observer = *std::move(listening);
  }
  Loop loop(
      {kernel, service, *server, *sources, observer ? &*observer : nullptr,
       signals, [](const std::string& line) { spdlog::info(line); }},
      {settings.interval_ms * 1'000'000, settings.exit_with_target});
  if (auto status = tell_ready(settings.ready_fd); !status) return status;
  spdlog::info("serving on {}, policy {}, {} tiers, {} targets",
               settings.socket, settings.service.policy,
               service.machine().tiers.size(), service.managed().size());
  return loop.run();
}

Status run(const Settings& settings, int signals) {
  const auto kernel = open_kernel();
  auto service = make_service(*kernel, settings);
  if (!service) return service.error();
  if (settings.check_config) {
    for (const auto& line : (*service)->notices()) {
      std::printf("note: %s\n", line.c_str());
    }
    std::printf("all is well: policy %s, machine %s, %zu tiers, %zu targets\n",
                settings.service.policy.c_str(),
                (*service)->machine().name.c_str(),
                (*service)->machine().tiers.size(), settings.pids.size());
    return {};
  }
  auto served = serve(settings, *kernel, **service, signals);
  if (!served && (*service)->windows() == 0) return served;
  auto reported = write_report(settings, **service);
  return served ? reported : served;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  own_usage();
  const auto parsed = parse_settings(argc, argv);
  if (parsed.leave) return *parsed.leave;
  spdlog::set_default_logger(spdlog::stderr_color_mt("thermoclined"));
  std::signal(SIGPIPE, SIG_IGN);
  // Before any thread starts: all of them then leave the signals to us.
  const int signals = stop_signals();
  try {
    const auto status = run(parsed.settings, signals);
    if (status) return 0;
    std::fprintf(stderr, "thermoclined: %s\n", status.error().message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermoclined: %s\n", error.what());
  }
  return 1;
}
