// thermocline, the command line, from the outside: what it refuses, with one
// line that names the thing, and what it leaves behind.
#include "tests/daemon/commands.h"

#include "traces/trace_file.h"

namespace thermocline {
namespace {

TEST_F(Commands, VersionAndHelp) {
  EXPECT_EQ(run({"--version"}).output, "thermocline " THERMOCLINE_VERSION "\n");
  EXPECT_EQ(run({"--help"}).status, 0);
  for (const char* command :
       {"record", "train", "run", "attach", "query", "estimate", "info",
        "export", "import", "thin", "list", "detach", "policy", "budget",
        "pause", "resume", "top", "watch", "keygen"}) {
    const auto help = run({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_NE(help.output.find("Usage"), std::string::npos) << command;
  }
}

TEST_F(Commands, Usage) {
  expect_refused({}, {"--help"}, 2);
  expect_refused({"recrod"}, {"\"recrod\"", "--help"}, 2);
  expect_refused({"--nonsense"}, {"--help"}, 2);
  expect_refused({"record", "--nonsense", "--", "true"}, {"--help"}, 2);
  expect_refused({"record", "--", "true"}, {"--output"}, 2);
  expect_refused({"record", "-o", scratch / "a"}, {"command"}, 2);
  expect_refused({"info"}, {"file"}, 2);
  expect_refused({"attach"}, {"pid"}, 2);
  expect_refused({"attach", "x"}, {"pid"}, 2);
  expect_refused({"query"}, {"operation"}, 2);
  expect_refused({"detach"}, {"pid"}, 2);
  expect_refused({"budget", "much"}, {"rate"}, 2);
}

TEST_F(Commands, RecordRefusesWhatCannotBe) {
  const auto to = scratch / "a.trace";
  expect_refused(record(to, {"--", "no-such-program"}), {"no-such-program"});
  expect_refused(record(to, {"--", "/etc/passwd"}), {"/etc/passwd"});
  expect_refused(record(to, {"--placement", "upstairs", "--", "true"}),
                 {"upstairs", "all_slow"});
  expect_refused(record(to, {"--placement", "all_slow", "--", "true"}), {"63"});
  expect_refused(record(to, {"--source", "nonsense", "--", "true"}),
                 {"nonsense"});
  expect_refused(
      record(to, {"--source", "stream:" + (scratch / "no"), "--", "true"}),
      {scratch / "no"});
  expect_refused(record(scratch / "no/such/a.trace", {"--", "true"}),
                 {"no/such/a.trace"});
  expect_refused(record(to, {"--machine", scratch / "none.json", "--", "true"}),
                 {"none.json"});
}

TEST_F(Commands, RecordKeepsAnOlderTraceUntilTheJobRuns) {
  const auto to = scratch / "a.trace";
  ASSERT_EQ(run(record(to, {"--", "true"})).status, 0);
  const auto old = slurp(to);
  ASSERT_FALSE(old.empty());
  expect_refused(record(to, {"--", "true"}), {"a.trace", "--force"});
  expect_refused(record(to, {"--force", "--", "no-such-program"}),
                 {"no-such-program"});
  EXPECT_EQ(slurp(to), old);
}

TEST_F(Commands, RecordPassesOnHowTheJobEnded) {
  const auto to = scratch / "a.trace";
  const auto failed = run(record(to, {"--", "sh", "-c", "exit 3"}));
  EXPECT_EQ(failed.status, 3);
  EXPECT_NE(failed.output.find("status 3"), std::string::npos);
  auto read = read_trace(to);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->damage.empty());
  EXPECT_TRUE(read->trace.end.known);
  EXPECT_EQ(read->trace.end.exit_status, 3);
  EXPECT_EQ(run(record(to, {"--force", "--", "sh", "-c", "kill -9 $$"})).status,
            137);
}

TEST_F(Commands, RunRefusesWhatCannotBe) {
  expect_refused(beside({"--", "no-such-program"}), {"no-such-program"});
  expect_refused(
      beside({"--agent", "a.pt", "--policy", "all_slow", "--", "true"}),
      {"--agent", "all_slow"}, 2);
  expect_refused({"run", "--policy", "all_slow", "--machine",
                  scratch / "two.json", "--", "true"},
                 {"63"});
}

// The daemon says why, `run` says that the job was not run: two lines, and the
// job must not have touched anything.
TEST_F(Commands, RunDoesNotStartTheJobWithoutItsDaemon) {
  const auto touched = scratch / "touched";
  const auto refused = [&](Words rest, const std::string& naming) {
    rest.insert(rest.end(), {"--", "touch", touched});
    const auto ran = run(beside(rest));
    EXPECT_NE(ran.status, 0);
    EXPECT_NE(ran.output.find(naming), std::string::npos) << ran.output;
    EXPECT_NE(ran.output.find("was not run"), std::string::npos) << ran.output;
    EXPECT_NE(::access(touched.c_str(), F_OK), 0);
  };
  refused({"--policy", "nonsense"}, "\"nonsense\"");
  refused({"--agent", scratch / "none.pt"}, "none.pt");
  refused({"--options", "{"}, "JSON");
  Child first({THERMOCLINED, "--mover", "dry", "--socket", socket(),
               "--machine", scratch / "two.json", "--ready-fd", "9"});
  ASSERT_EQ(first.ready(), "ready\n") << (first.wait(), first.output());
  refused({}, "api.sock");  // in use
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
}

TEST_F(Commands, RunPassesOnHowTheJobEnded) {
  const auto ran = run(beside({"--json", "--", "sh", "-c", "exit 3"}));
  EXPECT_EQ(ran.status, 3) << ran.output;
  EXPECT_NE(ran.output.find("\"exit_status\": 3"), std::string::npos);
  EXPECT_NE(::access(socket().c_str(), F_OK), 0);
}

TEST_F(Commands, AttachRefusesWhatCannotBe) {
  const Words common{"--mover",  "dry",       "--source",
                     "none",     "--machine", scratch / "two.json",
                     "--socket", socket()};
  const auto attach = [&](const std::string& pid) {
    Words words{"attach", pid};
    words.insert(words.end(), common.begin(), common.end());
    return words;
  };
  expect_refused(attach("4194000"), {"pid 4194000"});
  expect_refused(attach("0"), {"pid", "0"}, 2);
}

TEST_F(Commands, AttachAsksWhomItWasTold) {
  const auto nobody = scratch / "nobody.sock";
  expect_refused({"attach", "1", "--socket", nobody, "--weight", "2"},
                 {"no thermoclined serves on " + nobody, "--socket"});
  expect_refused({"attach", "1", "--weight", "2", "--policy", "histogram"},
                 {"--policy", "of its own"}, 2);
  expect_refused(
      {"attach", "1", "--socket", "tcp://127.0.0.1:1", "--mover", "dry"},
      {"--mover", "of its own"}, 2);
  expect_refused({"attach", "1", "--weight", "0"}, {"--weight"}, 2);
  expect_refused({"attach", "1", "--minimum", "5X"}, {"64M or 1G"}, 2);
}

TEST_F(Commands, AttachRefusesTheProcessOfAnother) {
  const auto ran = run_unprivileged({"attach", "1", "--mover", "dry",
                                     "--source", "none", "--socket", socket()});
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_NE(ran.output.find("pid 1"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("CAP_SYS_PTRACE"), std::string::npos) << ran.output;
}

TEST_F(Commands, QueryWithoutAServiceSaysHowToStartOne) {
  expect_refused({"query", "status", "--socket", socket()},
                 {socket(), "thermocline run"});
  expect_refused({"query", "explain", "--socket", socket()}, {"address"}, 2);
  for (const char* command : {"policy", "pause", "top", "watch"}) {
    expect_refused({command, "--socket", socket()},
                   {socket(), "thermocline run"});
  }
  expect_refused({"query", "status", "--socket", "tcp://127.0.0.1:1", "--keys",
                  scratch / "none"},
                 {"secret.key", "keygen"});
}

TEST_F(Commands, QueryAsksARunningService) {
  Child job({"/bin/sleep", "60"});
  Child daemon({THERMOCLINED, "--mover", "dry", "--socket", socket(),
                "--machine", scratch / "two.json", "--pid",
                std::to_string(job.pid()), "--ready-fd", "9"});
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const auto ask = [&](Words words) {
    words.insert(words.begin(), "query");
    words.insert(words.end(), {"--socket", socket()});
    return run(words);
  };
  EXPECT_NE(ask({"status"}).output.find("histogram"), std::string::npos);
  const auto as_json = ask({"status", "--json"});
  EXPECT_TRUE(nlohmann::json::accept(as_json.output)) << as_json.output;
  EXPECT_EQ(ask({"heat"}).status, 0);
  const auto refused = [&](const Words& words, const std::string& naming) {
    const auto ran = ask(words);
    EXPECT_EQ(ran.status, 1) << ran.output;
    EXPECT_NE(ran.output.find(naming), std::string::npos) << ran.output;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1);
  };
  refused({"nonsense"}, "nonsense");
  refused({"placement", "0x10"}, "0x10");
  refused({"placement", "here"}, "here");
  refused({"explain", "tensor:77"}, "77");
  refused({"set_policy", "-f", "name=nonsense"}, "nonsense");
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

TEST_F(Commands, InfoAndExportReadWhatPrecedesTheDamage) {
  const auto path = small_trace();
  const auto whole = run({"info", path});
  EXPECT_EQ(whole.status, 0);
  EXPECT_NE(whole.output.find("1000"), std::string::npos) << whole.output;
  const auto csv = run({"export", "--csv", path});
  EXPECT_EQ(csv.status, 0);
  EXPECT_EQ(std::count(csv.output.begin(), csv.output.end(), '\n'), 1001);
  EXPECT_TRUE(nlohmann::json::accept(run({"export", "--json", path}).output));

  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 3);
  const auto cut = run({"info", path});
  EXPECT_EQ(cut.status, 1);
  EXPECT_NE(cut.output.find(path + ":"), std::string::npos) << cut.output;
  EXPECT_NE(cut.output.find("1000"), std::string::npos) << cut.output;

  expect_refused({"info", scratch / "none.trace"}, {"none.trace"});
  expect_refused({"info", scratch / "two.json"}, {"two.json", "trace"});
  expect_refused({"export", "--csv", scratch / "none.trace"}, {"none.trace"});
  expect_refused({"info", scratch / "."}, {scratch / "."});
  std::ofstream(scratch / "cut.pt") << "PK\3\4, and the rest is lost";
  expect_refused({"info", scratch / "cut.pt"}, {"cut.pt", "cut off", "train"});
}

TEST_F(Commands, TrainRefusesWhatIsNotATrace) {
  expect_refused({"train", "-o", scratch / "a.pt", scratch / "none.trace"},
                 {"none.trace"});
  expect_refused({"train", "-o", scratch / "a.pt", scratch / "two.json"},
                 {"two.json"});
}

TEST_F(Commands, ThinWritesFewerSamplesThatStandForMore) {
  const auto from = small_trace(), to = scratch / "less.trace";
  ASSERT_EQ(run({"thin", from, "-o", to, "--every", "4", "-q"}).status, 0);
  const auto whole = read_trace(from), less = read_trace(to);
  ASSERT_TRUE(whole && less);
  EXPECT_LT(less->trace.samples.size(), whole->trace.samples.size() / 2);
  EXPECT_GT(less->trace.samples.size(), 0U);
  expect_refused({"thin", from, "-o", to}, {"less.trace", "exists"});
  expect_refused({"thin", from, "-o", to, "--every", "0"}, {"--every"}, 2);
  expect_refused({"thin", scratch / "none", "-o", to}, {"none"});
}

// Of a disk that is full: who reads the file later would not know.
TEST_F(Commands, WhatCannotBeWrittenToStdoutIsAnError) {
  for (const std::string words :
       {"list", "doctor", "--help", "estimate --help",
        "info traces/samples/small.trace", "completion bash"}) {
    Child child({"/bin/sh", "-c",
                 std::string(THERMOCLINE) + " " + words + " > /dev/full"});
    EXPECT_EQ(child.wait(), 1) << words;
    EXPECT_NE(child.output().find("not all of the output"), std::string::npos)
        << words << ": " << child.output();
  }
}

}  // namespace
}  // namespace thermocline
