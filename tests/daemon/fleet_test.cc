// thermocline query --fleet: many daemons asked at once, dead ones among them.
#include "daemon/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "daemon/keys.h"
#include "tests/daemon/commands.h"
#include "tests/daemon/free_ports.h"

namespace thermocline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kKey = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7";

Result<std::vector<FleetHost>> read(const std::string& text) {
  std::istringstream from(text);
  return read_fleet(from, "hosts", "/keys");
}

TEST(Fleet, IsALineForEach) {
  const auto hosts =
      read("// all of them\n\n a  /run/a.sock\r\nb tcp://b:7411 " +
           std::string(kKey) + "\n");
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].name, "a");
  EXPECT_EQ((*hosts)[0].access.socket, "/run/a.sock");
  EXPECT_EQ((*hosts)[1].access.server_key, kKey);
  EXPECT_EQ((*hosts)[1].access.keys, "/keys");
}

TEST(Fleet, NamesTheLineThatIsBad) {
  const std::string key(kKey);
  for (const auto& [text, naming] :
       std::vector<std::pair<std::string, std::string>>{
           {"a", "NAME SOCKET"},
           {"a tcp://b:7411", "public key"},
           {"a tcp://b:7411 short", "public key"},
           {"a tcp://b " + key, "tcp://HOST:PORT"},
           {"a /run/a.sock " + key, "needs no key"},
           {"a tcp://b:7411 " + key + " x", "\"x\""},
           {"a /a\na /b", "hosts:2: a is there twice"},
           {"// nobody\n", "names nobody"}}) {
    const auto hosts = read(text);
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().code, Error::Code::kInvalid);
    EXPECT_THAT(hosts.error().message, HasSubstr("hosts"));
    EXPECT_THAT(hosts.error().message, HasSubstr(naming));
  }
}

// Daemons on this host, one of them over TCP, and two that are not there.
class FleetCommand : public Commands {
 protected:
  std::vector<std::string> daemon(const std::string& name,
                                  const Words& more = {}) const {
    Words out{THERMOCLINED,
              "--mover",
              "dry",
              "--interval",
              "50",
              "--ready-fd",
              "9",
              "--machine",
              scratch / "two.json",
              "--socket",
              scratch / (name + ".sock")};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  void make_our_keys() {
    ASSERT_TRUE(make_keys(scratch / "server"));
    ASSERT_TRUE(make_keys(scratch / "ours"));
    std::ofstream(scratch / "clients")
        << "read-only " << *read_key(scratch / "ours/public.key") << " ours\n";
    address = "tcp://127.0.0.1:" + std::to_string(two_free_ports());
  }
  Words over_tcp() const {
    return {"--listen",         address,     "--keys",
            scratch / "server", "--clients", scratch / "clients"};
  }
  void write_hosts(const std::string& text) const {
    std::ofstream(scratch / "hosts") << text;
  }
  std::string line(const std::string& name) const {
    return name + " " + (scratch / (name + ".sock")) + "\n";
  }
  Ran ask(const std::string& op, const Words& more = {}) const {
    Words words{"query",           op,       "--fleet",
                scratch / "hosts", "--keys", scratch / "ours",
                "--timeout-ms",    "2000"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::string address;
};

TEST_F(FleetCommand, TheDeadAreALineAndNotTheEnd) {
  make_our_keys();
  Child first(daemon("first"));
  Child second(daemon("second"));
  Child remote(daemon("remote", over_tcp()));
  for (const Child* one : {&first, &second, &remote}) {
    ASSERT_EQ(one->ready(), "ready\n");
  }
  const auto key = *read_key(scratch / "server/public.key");
  const std::string living =
      line("first") + line("second") + "remote " + address + " " + key + "\n";
  write_hosts(living);
  auto ran = ask("status");
  EXPECT_EQ(ran.status, 0) << ran.output;
  for (const char* name : {"first ", "second ", "remote "}) {
    EXPECT_THAT(ran.output, HasSubstr(std::string("\n") + name));
  }

  // A socket that is not there, and a port where nobody listens.
  write_hosts(line("gone") + living + "far tcp://127.0.0.1:9 " + key + "\n");
  ran = ask("status", {"--json"});
  EXPECT_EQ(ran.status, 3) << ran.output;
  const auto end = ran.output.rfind('}');
  const auto out = json::parse(ran.output.substr(0, end + 1), nullptr, false);
  ASSERT_TRUE(out.is_object()) << ran.output;
  EXPECT_EQ(out["answered"], 3);
  EXPECT_EQ(out["failed"], 2);
  ASSERT_EQ(out["hosts"].size(), 5u);
  EXPECT_EQ(out["hosts"][0]["host"], "gone");
  EXPECT_EQ(out["hosts"][0]["error"]["code"], "not_found");
  EXPECT_EQ(out["hosts"][3]["answer"]["mover"], "dry");
  EXPECT_EQ(out["hosts"][4]["error"]["code"], "io");

  write_hosts(line("gone"));
  ran = ask("tiers");
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("1 of 1 hosts"));
}

TEST_F(FleetCommand, EachOperationHasItsTable) {
  Child first(daemon("first"));
  Child second(daemon("second"));
  ASSERT_EQ(first.ready(), "ready\n");
  ASSERT_EQ(second.ready(), "ready\n");
  write_hosts(line("first") + line("second"));
  auto ran = ask("tiers");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 5)
      << "two tiers of two hosts\n"
      << ran.output;
  EXPECT_EQ(ask("targets").status, 0);
  ran = ask("version");
  EXPECT_THAT(ran.output, HasSubstr("second:\n  api: 1\n"));
  // Refused by each: as the answer says, and nobody is left.
  ran = ask("no_such_operation");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.output, HasSubstr("no operation"));
}

TEST_F(FleetCommand, BadListsAreRefused) {
  expect_refused({"query", "status", "--fleet", scratch / "none"},
                 {scratch / "none", "NAME SOCKET"});
  write_hosts("a b c d\n");
  expect_refused({"query", "status", "--fleet", scratch / "hosts"},
                 {"hosts:1"});
  expect_refused(
      {"query", "status", "--fleet", scratch / "hosts", "--socket", "x"},
      {"--fleet", "--socket"}, 2);
}

}  // namespace
}  // namespace thermocline
