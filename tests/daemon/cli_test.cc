// thermoclined from the outside: bad input gets one line and a status.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

struct Ran {
  int status = -1;
  std::string output;
  std::ptrdiff_t lines() const {
    return std::count(output.begin(), output.end(), '\n');
  }
};

class Cli : public ::testing::Test {
 protected:
  Ran run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), THERMOCLINED);
    arguments.insert(arguments.end(), {"--socket", scratch / "api.sock"});
    Child child(arguments);
    Ran ran;
    ran.status = child.wait();
    ran.output = child.output();
    return ran;
  }
  // One line, naming the thing, with this status, and nothing left behind.
  void expect_refused(const std::vector<std::string>& arguments,
                      const std::string& naming, int status = 1) {
    const auto before = scratch.files();
    const auto ran = run(arguments);
    EXPECT_EQ(ran.status, status) << ran.output;
    EXPECT_EQ(ran.lines(), 1) << ran.output;
    EXPECT_NE(ran.output.find(naming), std::string::npos) << ran.output;
    EXPECT_EQ(scratch.files(), before);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(scratch / name) << text;
  }
  Scratch scratch;
};

TEST_F(Cli, VersionAndHelp) {
  EXPECT_EQ(run({"--version"}).output,
            "thermoclined " THERMOCLINE_VERSION "\n");
  const auto help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.output.find("--check-config"), std::string::npos);
}

TEST_F(Cli, Usage) {
  expect_refused({"--nonsense"}, "--nonsense", 2);
  expect_refused({"--pid", "x"}, "x", 2);
  expect_refused({"--interval", "0"}, "--interval", 2);
  expect_refused({"--headroom", "2"}, "--headroom", 2);
  expect_refused({"--budget", "much"}, "--budget", 2);
  expect_refused({"--budget", "5X"}, "--budget", 2);
  expect_refused({"--agent", "a", "--policy", "first_touch"}, "--agent", 2);
  expect_refused({"surplus"}, "surplus", 2);
}

TEST_F(Cli, BadInput) {
  expect_refused({"--pid", "4194000"}, "pid 4194000");
  expect_refused({"--pid", "2", "--check-config"}, "pid 2");
  expect_refused({"--policy", "nonsense"}, "\"nonsense\"");
  expect_refused({"--options", "{"}, "not JSON");
  expect_refused({"--options", R"({"no_such":1})"}, "\"no_such\"");
  expect_refused({"--mover", "cart"}, "\"cart\"");
  expect_refused({"--machine", scratch / "none.json"}, "none.json");
  expect_refused({"--agent", scratch / "none.pt"}, "none.pt");
  expect_refused({"--source", "stream:" + (scratch / "none")}, "none");
  expect_refused({"--source", "nonsense"}, "nonsense");
  expect_refused({"--report", scratch / "no/such/report"}, "no/such/report");
  expect_refused({"--region", "5000"}, "5000");
  expect_refused({"--observer", (scratch / "no") + "/obs.sock"}, "obs.sock");
  write("machine.json", "{\"tiers\":[],\"colour\":1}");
  expect_refused({"--machine", scratch / "machine.json"}, "machine.json");
}

TEST_F(Cli, SocketThatCannotBe) {
  write("file", "precious");
  const auto run_with = [&](const std::string& socket) {
    Child child({THERMOCLINED, "--socket", socket});
    Ran ran;
    ran.status = child.wait();
    ran.output = child.output();
    return ran;
  };
  const auto not_socket = run_with(scratch / "file");
  EXPECT_EQ(not_socket.status, 1);
  EXPECT_EQ(std::filesystem::file_size(scratch / "file"), 8u);
  EXPECT_NE(not_socket.output.find("not a socket"), std::string::npos);
  const auto nowhere = run_with((scratch / "file") + "/api.sock");
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_NE(nowhere.output.find("not a directory"), std::string::npos);
  const auto too_long = run_with(scratch / std::string(200, 'x'));
  EXPECT_EQ(too_long.status, 1);
  EXPECT_NE(too_long.output.find("bytes"), std::string::npos);
}

// What would stop the daemon later is said when it is checked, and nothing is
// made for that.
TEST_F(Cli, CheckConfigFindsWhatCannotBe) {
  const auto refused = [&](std::vector<std::string> words,
                           const std::string& naming) {
    words.emplace_back("--check-config");
    expect_refused(words, naming);
  };
  refused({"--source", "prf"}, "unknown source \"prf\"");
  refused({"--source", "pages:x"}, "unknown page tracker");
  refused({"--source", "stream:" + (scratch / "none")}, "check its name");
  refused({"--listen", "1.2.3.4"}, "--listen 1.2.3.4");
  refused({"--listen", "tcp://127.0.0.1:7411"}, "--keys");
  refused({"--listen", "tcp://127.0.0.1:7411", "--keys", scratch / "keys",
           "--clients", scratch / "clients"},
          "keygen");
  refused({"--state", scratch / "no/state"}, "no/state");
  refused({"--state", "/dev/null"}, "choose a file");
  refused({"--report", scratch / "no/report"}, "no/report");
  refused({"--observer", scratch / "no/observer"}, "no/observer");
  refused({"--log-level", "loud"}, "loud");
  const auto ran = run({"--check-config", "--mover", "dry", "--state",
                        scratch / "state", "--report", scratch / "report"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(scratch.files(), 0u);
}

TEST_F(Cli, ASocketIsNotPutWhereOthersMayTakeItsPlace) {
  std::filesystem::create_directory(scratch / "open");
  std::filesystem::permissions(scratch / "open", std::filesystem::perms::all);
  Child child({THERMOCLINED, "--socket", scratch / "open/api.sock"});
  EXPECT_EQ(child.wait(), 1);
  EXPECT_NE(child.output().find("can be written by others"), std::string::npos)
      << child.output();
}

TEST_F(Cli, CheckConfigSaysThatAllIsWell) {
  const auto ran = run({"--check-config", "--mover", "dry"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("all is well"), std::string::npos);
  EXPECT_EQ(scratch.files(), 0u);
}

}  // namespace
}  // namespace thermocline
