// thermocline watch: what a running thermoclined does, line by line.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/asking.h"
#include "daemon/commands.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

using nlohmann::json;

struct Arguments {
  Asking asking;
  std::string topic;
  int count = 0;
  bool as_json = false;
};

volatile std::sig_atomic_t stopped = 0;

double number(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : 0;
}

void print_window(const json& event) {
  const auto moves = event.value("moves", json::object());
  const auto samples = event.value("samples", json::object());
  std::printf(
      "window %.0f: %.0f samples, %.0f lost, %.0f moves decided, %s "
      "moved\n",
      number(event, "window"), number(samples, "attributed"),
      number(samples, "lost"), number(moves, "decided"),
      show_bytes(number(moves, "moved_bytes")).c_str());
  for (const auto& target : event.value("targets", json::array())) {
    std::printf(
        "  pid %.0f %-15s %10s, %3.0f %% of it and %3.0f %% of its "
        "accesses in fast memory%s\n",
        number(target, "pid"), target.value("name", "").c_str(),
        show_bytes(number(target, "footprint_bytes")).c_str(),
        100 * number(target, "fast_share"),
        100 * number(target, "fast_access_share"),
        target.value("ended", false) ? "; has ended" : "");
  }
}

void print(const std::string& text, bool as_json) {
  const auto event = json::parse(text, nullptr, false);
  if (as_json || !event.is_object()) {
    std::printf("%s\n", text.c_str());
  } else if (event.value("event", "") == "window") {
    print_window(event);
  } else {
    std::printf("%s\n", event.value("what", text).c_str());
  }
  std::fflush(stdout);
}

void run(const Arguments& given, Outcome& outcome) {
  // So that an error of the service's is told before the wait begins.
  const auto there = asked(given.asking, {{"op", "subscribe"}});
  if (!there) return outcome.fail(there.error());
  auto events = Events::open(given.asking.access, given.topic);
  if (!events) return outcome.fail(events.error());
  struct sigaction stop = {};
  stop.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  int seen = 0;
  while (stopped == 0 && (given.count == 0 || seen < given.count)) {
    if (const auto event = events->next(500)) {
      print(*event, given.as_json);
      ++seen;
    } else if (stopped == 0 && !asked(given.asking, {{"op", "version"}})) {
      return outcome.fail(not_found("the service has ended"));
    }
  }
}

}  // namespace

void add_watch(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "watch", "Print what a running thermoclined does, until Ctrl-C.");
  command->add_option("topic", given->topic,
                      "window or control; default: both");
  command->add_option("-n,--count", given->count, "stop after so many events");
  add_asking(*command, given->asking);
  command->add_flag("--json", given->as_json, "events as they come");
  command->callback([given, &outcome] { run(*given, outcome); });
}

}  // namespace thermocline
