// The configuration file: strict, documented by its own defaults, reloaded.
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/settings.h"
#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

class Config : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    auto path = scratch / "thermoclined.json";
    std::ofstream(path) << text;
    return path;
  }
  Settings parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "thermoclined");
    const auto out =
        parse_settings(static_cast<int>(words.size()), words.data());
    EXPECT_FALSE(out.leave);
    return out.settings;
  }
  std::string refusal(const std::string& text) {
    const char* words[] = {"thermoclined"};
    const auto read = reread_settings(write(text), 1, words);
    return read ? "accepted" : read.error().message;
  }
  void expect_refused(const std::string& text, const std::string& naming) {
    const auto why = refusal(text);
    EXPECT_NE(why.find("thermoclined.json"), std::string::npos) << why;
    EXPECT_NE(why.find(naming), std::string::npos) << why;
  }
  Scratch scratch;
};

TEST_F(Config, TheCommandLineOverridesTheFile) {
  const auto path = write(
      R"({"interval": 250, "budget": 5, "pids": [1, 2],  // mine
          "policy": "histogram", "options": {"cooling": 0.5}})");
  auto settings = parsed({"--config", path.c_str()});
  EXPECT_EQ(settings.interval_ms, 250);
  EXPECT_EQ(settings.service.budget, 5u);
  EXPECT_EQ(settings.pids, (std::vector<int>{1, 2}));
  EXPECT_EQ(settings.service.policy_options, R"({"cooling":0.5})");
  settings = parsed({"--config", path.c_str(), "--budget", "2M", "--pid", "9",
                     "--agent", "a.pt"});
  EXPECT_EQ(settings.interval_ms, 250);
  EXPECT_EQ(settings.service.budget, Bytes{2} << 20);
  EXPECT_EQ(settings.pids, (std::vector<int>{9}));
  EXPECT_EQ(settings.service.policy, "learned") << "one choice with policy";
  EXPECT_EQ(settings.service.policy_options, R"({"agent":"a.pt"})");
}

TEST_F(Config, WhatItPrintsIsTheDefault) {
  const auto path = write(config_text(Settings{}));
  const auto read = parsed({"--config", path.c_str()});
  const auto none = parsed({});
  EXPECT_EQ(differing(read, none), std::vector<std::string>{});
  const auto text = config_text(none);
  for (const char* part : {"\"interval\": 1000", "; 1 to 3600000",
                           "\"budget\": 268435456", "\"pids\": []"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(Config, TargetsAndGuardsAreListed) {
  const auto path = write(
      R"({"targets": [{"cgroup": "jobs", "weight": 2, "minimum": 4096},
                      {"exe": "python3", "user": 0, "least": 5,
                       "children": false}, {"user": "root"}],
          "without": ["slowdown", "pressure"]})");
  auto settings = parsed({"--config", path.c_str()});
  const auto& rules = settings.service.find;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].cgroup, "jobs");
  EXPECT_EQ(rules[0].share.weight, 2);
  EXPECT_EQ(rules[0].share.minimum, 4096u);
  EXPECT_TRUE(rules[0].children);
  EXPECT_EQ(rules[1].exe, "python3");
  EXPECT_EQ(rules[1].user, 0u);
  EXPECT_EQ(rules[1].least, 5u);
  EXPECT_FALSE(rules[1].children);
  EXPECT_EQ(rules[2].user, 0u);
  EXPECT_EQ(settings.service.without,
            (std::vector<std::string>{"slowdown", "pressure"}));
  const auto again = write(config_text(settings));
  EXPECT_EQ(differing(parsed({"--config", again.c_str()}), settings),
            std::vector<std::string>{});
  settings = parsed({"--config", path.c_str(), "--cgroup", "a", "--cgroup", "b",
                     "--without", "residence"});
  ASSERT_EQ(settings.service.find.size(), 2u);
  EXPECT_EQ(settings.service.find[1].cgroup, "b");
  EXPECT_EQ(settings.service.without, std::vector<std::string>{"residence"});
}

TEST_F(Config, NamesWhatIsWrong) {
  expect_refused("{\"interval\": 5,\n\n \"budget\" 3}",
                 ":3:11: unexpected number literal; expected ':'");
  expect_refused("", "empty");
  expect_refused(R"({"interval": 5, "interval": 7})", "\"interval\" is there");
  expect_refused(R"({"targets": [{"exe": "a", "exe": "b"}]})", "\"exe\"");
  const std::string deep(100'000, '[');
  for (const std::string key : {"without", "options", "interval", "targets"}) {
    expect_refused("{\"" + key + "\": " + deep, "nested");
  }
  expect_refused(std::string(2 << 20, ' ') + "{}", "larger than 1 MiB");
  expect_refused(R"({"pids": [4, 4]})", "4 twice");
  expect_refused("[]", "object");
  expect_refused(R"({"headroom": 1e999})", "too large");
  expect_refused(R"({"intervall": 5})", "did you mean \"interval\"?");
  expect_refused(R"({"moon": 5})", "--print-config");
  expect_refused(R"({"interval": 0})", "outside [1, 3600000]");
  expect_refused(R"({"headroom": "a"})", "headroom");
  expect_refused(R"({"pids": 7})", "pids");
  expect_refused(R"({"pids": [0]})", "pids");
  expect_refused(R"({"options": "{}"})", "options");
  expect_refused(R"({"targets": {}})", "targets");
  expect_refused(R"({"targets": [{"exe": "a"}, {}]})", "rule 2 of \"targets\"");
  expect_refused(R"({"targets": [{"exe": "a", "wieght": 1}]})", "wieght");
  expect_refused(R"({"targets": [{"exe": "a", "weight": 0}]})", "weight");
  expect_refused(R"({"targets": [{"user": "nobody-of-that-name"}]})",
                 "no user \"nobody-of-that-name\"");
  expect_refused(R"({"without": "slowdown"})", "without");
  expect_refused(R"({"without": ["gravity"]})", "no guard \"gravity\"");
  const char* words[] = {"thermoclined"};
  EXPECT_EQ(reread_settings(scratch / "none", 1, words).error().code,
            Error::Code::kNotFound);
  // Where a reader would wait, or read without end.
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  for (const std::string& path :
       {scratch / "pipe", std::string("/dev/zero"), std::string("/tmp")}) {
    EXPECT_NE(reread_settings(path, 1, words).error().message.find("give a "),
              std::string::npos);
  }
}

TEST_F(Config, IsReadAnewOrRefused) {
  const auto path = write(R"({"budget": 1000, "interval": 50})");
  const auto socket = scratch / "api.sock";
  Child daemon({THERMOCLINED, "--config", path, "--mover", "dry", "--ready-fd",
                "9", "--socket", socket});
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const auto budget = [&] {
    return ask_daemon(socket, {{"op", "status"}})
        .value("budget_bytes_per_s", 0);
  };
  // Answered by the same thread, after the signal was seen: in a few turns.
  const auto becomes = [&](int expected) {
    for (int i = 0; i < 200 && budget() != expected; ++i) ::usleep(10'000);
    return budget();
  };
  EXPECT_EQ(budget(), 1000);
  write(R"({"budget": 2000, "interval": 60})");
  daemon.signal(SIGHUP);
  EXPECT_EQ(becomes(2000), 2000);
  for (const char* bad :
       {R"({"budget": 3000, "policy": "nonsense"})", R"({"budgte": 4000})",
        R"({"budget": 4000, "log_level": "loud"})",
        R"({"budget": 4000, "source": "prf"})",
        R"({"budget": 4000, "policy": "interleave", "clients": "/tmp"})"}) {
    write(bad);
    daemon.signal(SIGHUP);
    ::usleep(200'000);  // read before the next is written
  }
  EXPECT_EQ(budget(), 2000);  // all of a file, or nothing
  EXPECT_NE(ask_daemon(socket, {{"op", "status"}})["policy"], "interleave");
  write(R"({"budget": 5000, "interval": 50,
            "without": ["thrashing", "in_flight"]})");
  daemon.signal(SIGHUP);
  EXPECT_EQ(becomes(5000), 5000);
  const auto known = ask_daemon(socket, {{"op", "guards"}});
  for (const auto& guard : known["guards"]) {
    EXPECT_EQ(guard["on"], guard["name"] != "thrashing") << guard;
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  for (const char* line : {"interval has changed; it takes a restart",
                           "guard in_flight is switched at the start only",
                           "budget is as the file says now", "reload refused",
                           "did you mean \"budget\"?"}) {
    EXPECT_NE(daemon.output().find(line), std::string::npos) << daemon.output();
  }
}

}  // namespace
}  // namespace thermocline
