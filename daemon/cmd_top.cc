// thermocline top: a running thermoclined, live in a terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/asking.h"
#include "daemon/commands.h"
#include "daemon/top_screen.h"

namespace thermocline {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Arguments {
  Asking asking;
  double interval_s = 1;
  int rows = 0;  // 0: as many as fit
  bool once = false;
  bool as_json = false;
};

volatile std::sig_atomic_t stopped = 0;

const TopLine kKeys{
    "q quit  p pause/resume  s sort  v regions/tensors/mappings  up/down pick  "
    "h help",
    TopStyle::kDim};
constexpr int kRowsOnce = 12;
constexpr int kMostRows = 1000;  // of the API

std::string text_of(const Result<json>& answer, std::string& trouble) {
  if (answer) return answer->dump();
  if (trouble.empty()) trouble = answer.error().message;
  return {};
}

// `rows`: of the hottest memory.
TopAnswers look(const Arguments& given, const TopChoice& choice, int rows) {
  TopAnswers out;
  const auto get = [&](json request) {
    return text_of(asked(given.asking, std::move(request)), out.trouble);
  };
  out.status = get({{"op", "status"}});
  if (!out.trouble.empty()) return out;
  out.targets = get({{"op", "targets"}});
  out.tiers = get({{"op", "tiers"}});
  out.heat = get({{"op", "heat"}, {"by", by_name(choice.by)}, {"limit", rows}});
  std::uint64_t start = 0;
  int pid = 0;
  if (picked_place(out, choice, start, pid)) {
    // What was there a moment ago may be gone: no trouble.
    std::string none;
    out.why =
        text_of(asked(given.asking,
                      {{"op", "explain"}, {"address", start}, {"pid", pid}}),
                none);
  }
  return out;
}

void print_once(const Arguments& given, Outcome& outcome) {
  TopChoice choice;
  choice.picked = given.once ? 0 : -1;
  const auto answers =
      look(given, choice, given.rows > 0 ? given.rows : kRowsOnce);
  if (!answers.trouble.empty()) return outcome.fail(io(answers.trouble));
  if (given.as_json) {
    const auto part = [](const std::string& text) {
      return json::parse(text.empty() ? "null" : text, nullptr, false);
    };
    std::printf("%s\n", json{{"status", part(answers.status)},
                             {"targets", part(answers.targets)["targets"]},
                             {"tiers", part(answers.tiers)["tiers"]},
                             {"heat", part(answers.heat)["regions"]}}
                            .dump(2)
                            .c_str());
    return;
  }
  for (const auto& line : top_lines(answers, choice, 200, 0)) {
    std::printf("%s\n", line.text.c_str());
  }
}

// Whether to go on. `note`: what the person is to be told of it.
bool act(int key, const Arguments& given, const TopAnswers& answers,
         TopChoice& choice, std::string& note) {
  switch (key) {
    case 'q': return false;
    case 'h':
    case '?': choice.help = !choice.help; break;
    case 's':
      choice.sort =
          static_cast<TopChoice::Sort>((static_cast<int>(choice.sort) + 1) % 4);
      break;
    case 'v':
      choice.by =
          static_cast<TopChoice::By>((static_cast<int>(choice.by) + 1) % 3);
      choice.picked = 0;
      break;
    case 'p': {
      const bool paused =
          answers.status.find("\"paused\":true") != std::string::npos;
      const auto reply =
          asked(given.asking, {{"op", paused ? "resume" : "pause"}});
      if (!reply) note = reply.error().message;
      break;
    }
    case TopScreen::kUp: choice.picked = std::max(0, choice.picked - 1); break;
    case TopScreen::kDown: {
      auto next = choice;
      ++next.picked;
      std::uint64_t start = 0;
      int pid = 0;
      if (picked_place(answers, next, start, pid)) choice = next;
      break;
    }
    default: break;
  }
  return true;
}

// The key pressed before `until`, or none. It looks up now and then: a signal
// that comes just before it waits does not wake it.
int key_until(TopScreen& screen, Clock::time_point until) {
  constexpr std::chrono::milliseconds kPatience{250};
  while (stopped == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(until - Clock::now(), Clock::duration::zero()));
    const int key =
        screen.key(static_cast<int>(std::min(left, kPatience).count()));
    if (key != TopScreen::kNone || left <= kPatience) return key;
  }
  return TopScreen::kNone;
}

void watch(const Arguments& given) {
  struct sigaction stop = {};
  stop.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGHUP, &stop, nullptr);
  TopScreen screen;
  TopChoice choice;
  TopAnswers answers;
  std::string note;
  auto looked = Clock::now();
  const auto rows = [&] {
    return given.rows > 0 ? given.rows
                          : std::clamp(screen.height(), 1, kMostRows);
  };
  const auto look_again = [&] {
    const double moved = moved_bytes(answers);
    const bool before = !answers.status.empty();
    answers = look(given, choice, rows());
    const auto now = Clock::now();
    answers.seconds =
        before ? std::chrono::duration<double>(now - looked).count() : 0;
    answers.moved_before = moved;
    looked = now;
  };
  look_again();
  while (stopped == 0) {
    auto lines =
        top_lines(answers, choice, screen.width(), screen.height() - 1);
    lines.resize(static_cast<std::size_t>(std::max(0, screen.height() - 1)));
    lines.push_back(note.empty() ? kKeys : TopLine{note, TopStyle::kWarn});
    screen.show(lines);
    const int key = key_until(
        screen, looked + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(given.interval_s)));
    if (stopped != 0) return;
    if (key != TopScreen::kNone) note.clear();
    if (!act(key, given, answers, choice, note)) return;
    const bool asks_anew = key == TopScreen::kNone || key == 'p' ||
                           key == 'v' || key == TopScreen::kUp ||
                           key == TopScreen::kDown;
    if (asks_anew) look_again();
  }
}

}  // namespace

void add_top(CLI::App& root, Outcome& outcome) {
  auto given = std::make_shared<Arguments>();
  auto* command = root.add_subcommand(
      "top",
      "Watch a running thermoclined: tiers, moves, targets, the hottest memory "
      "and why it lies where it does. Plain text, once, when not in a "
      "terminal.");
  command->add_option("-d,--interval", given->interval_s, "seconds")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      ->add_option("--rows", given->rows,
                   "of the hottest memory; 0: as many as fit")
      ->check(CLI::Range(0, kMostRows))
      ->capture_default_str();
  command->add_flag("--once", given->once, "print once, as plain text");
  command->add_flag("--json", given->as_json, "print once, as JSON");
  add_asking(*command, given->asking);
  command->callback([given, &outcome] {
    const bool live = isatty(0) != 0 && isatty(1) != 0;
    if (given->once || given->as_json || !live) {
      return print_once(*given, outcome);
    }
    const char* kind = std::getenv("TERM");
    if (kind == nullptr || std::string(kind) == "dumb") {
      return outcome.fail(
          unsupported("this terminal (TERM) cannot show it; use --once"));
    }
    watch(*given);
  });
}

}  // namespace thermocline
