// thermoclined: manages the memory of processes until told to stop.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "daemon/log_format.h"
#include "daemon/own_memory.h"
#include "daemon/report.h"
#include "daemon/rights.h"
#include "daemon/running.h"
#include "daemon/settings.h"
#include "daemon/settings_check.h"
#include "daemon/stop_signals.h"

namespace thermocline {
namespace {

Result<Machine> find_machine(const Settings& settings) {
  return settings.machine.empty() ? Machine::from_kernel("/")
                                  : Machine::load(settings.machine);
}

Result<std::unique_ptr<Service>> make_service(Kernel& kernel,
                                              const Settings& settings) {
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
  return Service::make(kernel, *std::move(machine), std::move(options),
                       make_policy);
}

// Whether they could be managed; the daemon that runs may do so already.
Status check_pids(Kernel& kernel, const Service& service,
                  const Settings& settings) {
  for (const int pid : settings.pids) {
    const auto target =
        Target::attach(kernel, service.machine(), pid, settings.service.target);
    if (!target) return target.error();
  }
  return {};
}

Status write_report(const ParsedSettings& parsed, const Service& service) {
  const auto& settings = parsed.settings;
  const auto text = final_report(service, own_usage()) + "\n";
  if (parsed.invocation.json) std::fputs(text.c_str(), stdout);
  if (settings.report.empty()) return {};
  std::ofstream file(settings.report, std::ios::trunc);
  file << text;
  if (file.flush()) return {};
  return io("report file " + settings.report + " cannot be written");
}

Status run(const ParsedSettings& parsed,
           const std::function<Result<Settings>()>& reread, int signals) {
  const auto& settings = parsed.settings;
  set_up_log(settings.log_level);
  if (auto status = drop_rights(settings.keep_sys_admin); !status) {
    return status;
  }
  const auto kernel = open_kernel();
  if (auto status = check_values(settings, kernel->page_bytes()); !status) {
    return status;
  }
  auto service = make_service(*kernel, settings);
  if (!service) return service.error();
  if (parsed.invocation.check_config) {
    if (auto status = check_pids(*kernel, **service, settings); !status) {
      return status;
    }
    for (const auto& line : (*service)->notices().lines()) {
      std::printf("note: %s\n", line.c_str());
    }
    std::printf("all is well: policy %s, machine %s, %zu tiers, %zu targets\n",
                settings.service.policy.c_str(),
                (*service)->machine().name.c_str(),
                (*service)->machine().tiers.size(), settings.pids.size());
    return {};
  }
  for (const int pid : settings.pids) {
    if (auto status = (*service)->attach(pid); !status) return status;
  }
  auto served =
      serve({*kernel, **service, settings, parsed.invocation, reread, signals});
  if (!served && (*service)->windows() == 0) return served;
  auto reported = write_report(parsed, **service);
  return served ? reported : served;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using namespace thermocline;
  own_usage();
  const auto parsed = parse_settings(argc, argv);
  if (parsed.leave) return *parsed.leave;
  std::signal(SIGPIPE, SIG_IGN);
  // Before any thread starts: all of them then leave the signals to us.
  const auto& config = parsed.invocation.config;
  const int signals = stop_signals(/*hangup=*/!config.empty());
  const auto reread = [&] { return reread_settings(config, argc, argv); };
  try {
    const auto status = run(parsed, reread, signals);
    if (status) return 0;
    std::fprintf(stderr, "thermoclined: %s\n", status.error().message.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thermoclined: %s\n", error.what());
  }
  return 1;
}
