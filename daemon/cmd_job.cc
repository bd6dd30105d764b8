// thermocline job: a distributed job whose workers come, go and die.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/asking.h"
#include "daemon/commands.h"
#include "daemon/elastic_job.h"
#include "daemon/paths.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kInterruptedStatus = 130;  // as a shell has it

struct Arguments {
  ElasticOptions job;
  std::string mpirun = "mpirun";
  std::string host;
  int workers = 1;
  bool json = false;
};

std::string default_job_socket() {
  return directory_of(default_socket()) + "/job.sock";
}

void run(const Arguments& given, Outcome& outcome) {
  auto options = given.job;
  options.mpirun.clear();
  std::istringstream words(given.mpirun);
  for (std::string word; words >> word;) options.mpirun.push_back(word);
  if (options.mpirun.empty()) {
    return outcome.fail(invalid("--mpirun is empty; it names a program"), 2);
  }
  const auto report = run_elastic(options);
  if (!report) return outcome.fail(report.error());
  const auto& at = report->progress;
  const std::string saved =
      at.saved ? "saved at step " + std::to_string(*at.saved) : "nothing saved";
  if (report->end == Membership::Next::kGiveUp) {
    return outcome.fail(
        io("the job ended with status " + std::to_string(report->status) +
           " in run " + std::to_string(at.run) + ", " + saved +
           "; mend what its own messages say and start it again"),
        report->status == 0 ? 1 : report->status);
  }
  if (report->stopped) {
    return outcome.fail(interrupted("the job was stopped, " + saved +
                                    "; start it again to go on"),
                        kInterruptedStatus);
  }
  std::fprintf(stderr,
               "thermocline: the job is done: %d run%s, %d death%s, at most "
               "%ju steps done again after one\n",
               at.run, at.run == 1 ? "" : "s", at.deaths,
               at.deaths == 1 ? "" : "s", at.most_lost);
}

void print_status(const json& reply) {
  const auto number = [&](const char* key) { return reply.value(key, json()); };
  std::printf("%s: run %s, %s workers, step %s, loss %s\n",
              reply.value("state", "?").c_str(), number("run").dump().c_str(),
              number("workers").dump().c_str(), number("step").dump().c_str(),
              number("loss").dump().c_str());
  std::printf(
      "  newest checkpoint at step %s; %s deaths, at most %s steps done "
      "again after one\n",
      number("saved_step").dump().c_str(), number("deaths").dump().c_str(),
      number("most_steps_lost").dump().c_str());
  for (const auto& host : reply.value("hosts", json::array())) {
    const auto name = host.value("host", "");
    std::printf("  %s: %s\n", name.empty() ? "this host" : name.c_str(),
                host.value("workers", json()).dump().c_str());
  }
}

void ask_job(const Arguments& given, json request, Outcome& outcome) {
  if (::access(given.job.socket.c_str(), F_OK) != 0) {
    return outcome.fail(not_found("no job listens on " + given.job.socket +
                                  "; start one (thermocline job run), or name "
                                  "its socket with --socket"));
  }
  Asking asking;
  asking.access.socket = given.job.socket;
  const auto reply = asked(asking, std::move(request));
  if (!reply) return outcome.fail(reply.error());
  if (given.json) {
    std::printf("%s\n", reply->dump(2).c_str());
  } else {
    print_status(*reply);
  }
}

using Given = std::shared_ptr<Arguments>;

CLI::App* add_asking_part(CLI::App& under, const char* op, const char* help,
                          const Given& given, bool workers, Outcome& outcome) {
  auto* part = under.add_subcommand(op, help);
  part->add_option("--socket", given->job.socket, "of the job")
      ->capture_default_str();
  part->add_flag("--json", given->json, "the answer as it came");
  if (workers) {
    part->add_option("--host", given->host,
                     "on which mpirun starts them; default: this one");
    part->add_option("-n,--workers", given->workers, "how many")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
  }
  part->callback([op, given, workers, &outcome] {
    json request{{"op", op}};
    if (workers) {
      request["host"] = given->host;
      request["workers"] = given->workers;
    }
    ask_job(*given, std::move(request), outcome);
  });
  return part;
}

}  // namespace

void add_job(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  given->job.socket = default_job_socket();
  auto* command = root.add_subcommand(
      "job",
      "Run a distributed job whose workers come, go and die; each change "
      "starts mpirun anew from the newest checkpoint.");
  command->require_subcommand(1);
  auto* running = command->add_subcommand(
      "run", "Start it, and keep it running until it is finished.");
  running->add_option("-n,--workers", given->job.workers, "ranks at first")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  running->add_option("--socket", given->job.socket, "Unix socket to listen on")
      ->capture_default_str();
  running
      ->add_option("--mpirun", given->mpirun,
                   "mpirun and options of your own, parted by blanks")
      ->capture_default_str();
  running->add_option("command", given->job.command, "each rank's, after --")
      ->required();
  running->positionals_at_end();
  running->callback([given, &outcome] { run(*given, outcome); });
  add_asking_part(*command, "status", "How it fares.", given, false, outcome);
  add_asking_part(*command, "join", "More workers, from its next step on.",
                  given, true, outcome);
  add_asking_part(*command, "leave", "Fewer workers, likewise.", given, true,
                  outcome);
  add_asking_part(*command, "stop", "Save, end, and do not start again.", given,
                  false, outcome);
}

}  // namespace thermocline
