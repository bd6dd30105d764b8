// thermoclined over TCP: keys, roles, rates; and Prometheus' port.
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/clients.h"
#include "daemon/keys.h"
#include "daemon/metrics_server.h"
#include "daemon/remote_sockets.h"
#include "daemon/server.h"
#include "tests/daemon/free_ports.h"
#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

TEST(Keys, AreMadeOnceAndGuarded) {
  Scratch scratch;
  const auto directory = scratch / "keys";
  const auto made = make_keys(directory);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(is_key(*made));
  const auto read = read_keys(directory);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->public_key, *made);
  struct stat found {};
  ::stat((directory + "/secret.key").c_str(), &found);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(make_keys(directory).error().code, Error::Code::kInvalid);
  ::chmod((directory + "/secret.key").c_str(), 0640);
  EXPECT_EQ(read_keys(directory).error().code, Error::Code::kPermission);
  ::chmod((directory + "/secret.key").c_str(), 0600);
  ASSERT_TRUE(make_keys(scratch / "other"));
  std::filesystem::copy_file(scratch / "other/public.key",
                             directory + "/public.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(read_keys(directory).error().code, Error::Code::kCorrupt);
  EXPECT_EQ(read_keys(scratch / "none").error().code, Error::Code::kNotFound);
}

TEST(ClientsList, NamesTheLineThatIsBadAndKeepsTheOld) {
  Scratch scratch;
  const auto key = *make_keys(scratch / "a");
  const auto other = *make_keys(scratch / "b");
  const auto path = scratch / "clients";
  std::ofstream(path) << "// who may ask\n\noperator " << key << " eve\n"
                      << "read-only " << other << " ada\n";
  Clients clients(2);
  ASSERT_TRUE(clients.load(path));
  EXPECT_EQ(clients.size(), 2u);
  bool within = false;
  EXPECT_EQ(clients.caller(key, 0, within).role, Role::kOperator);
  EXPECT_EQ(clients.caller(other, 0, within).name, "ada");
  EXPECT_EQ(clients.caller("nobody's", 0, within).role, Role::kNone);
  for (const std::string& bad : std::vector<std::string>{
           "operator " + key, "king " + key + " eve", "operator short eve",
           "operator " + key + " eve and more",
           "operator " + key + " eve\noperator " + key + " eva"}) {
    std::ofstream(path) << bad << "\n";
    const auto loaded = clients.load(path);
    ASSERT_FALSE(loaded) << bad;
    EXPECT_NE(loaded.error().message.find(path + ":"), std::string::npos);
    EXPECT_EQ(clients.size(), 2u);
  }
}

TEST(ClientsList, HoldsEachToItsRateAndStrangersToOne) {
  Scratch scratch;
  const auto key = *make_keys(scratch / "a");
  std::ofstream(scratch / "clients") << "operator " << key << " eve\n";
  Clients clients(2);
  ASSERT_TRUE(clients.load(scratch / "clients"));
  const auto may = [&](const std::string& who, Nanos now) {
    bool within = false;
    static_cast<void>(clients.caller(who, now, within));
    return within;
  };
  EXPECT_TRUE(may(key, 0));
  EXPECT_TRUE(may(key, 0));
  EXPECT_FALSE(may(key, 0));
  EXPECT_TRUE(may("stranger", 0));
  EXPECT_TRUE(may("another", 0));
  EXPECT_FALSE(may("a third", 0)) << "new keys are no way around it";
  EXPECT_TRUE(may(key, 500'000'000));
  EXPECT_FALSE(may(key, 500'000'000));
}

TEST(RemoteSockets, EventsAreAtTheNextPort) {
  EXPECT_EQ(events_address("tcp://127.0.0.1:7411"), "tcp://127.0.0.1:7412");
  EXPECT_EQ(events_address("tcp://[::1]:1"), "tcp://[::1]:2");
  for (const char* bad : {"", "tcp://", "ipc:///x", "tcp://h", "tcp://h:0",
                          "tcp://h:65535", "tcp://h:x", "tcp://h:", "h:5"}) {
    EXPECT_FALSE(events_address(bad)) << bad;
  }
}

TEST(MetricsServer, AnswersScrapesAndNothingElse) {
  const auto text = [] { return std::string("a 1\n"); };
  const auto first = [&](const std::string& request) {
    const auto answer = answer_http(request, text);
    return answer.substr(0, answer.find("\r\n"));
  };
  EXPECT_EQ(first("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK");
  EXPECT_EQ(first("GET /metrics?a=b HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK");
  EXPECT_EQ(first("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(first("POST /metrics HTTP/1.1\r\n\r\n"),
            "HTTP/1.1 405 Method Not Allowed");
  for (const char* bad : {"", "GET", "\r\n", "GET /metrics", "\xff\xfe"}) {
    EXPECT_EQ(first(bad), "HTTP/1.1 400 Bad Request") << bad;
  }
}

// A daemon that serves over TCP, and clients with keys of their own.
class Remote : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* who : {"server", "eve", "ada", "mallory"}) {
      ASSERT_TRUE(make_keys(scratch / who));
      std::filesystem::copy_file(scratch / "server/public.key",
                                 (scratch / who) + "/server.key");
    }
    write_clients();
    address = "tcp://127.0.0.1:" + std::to_string(two_free_ports());
  }
  void write_clients() {
    std::ofstream(scratch / "clients")
        << "operator " << *read_key(scratch / "eve/public.key") << " eve\n"
        << "read-only " << *read_key(scratch / "ada/public.key") << " ada\n";
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {}) {
    std::vector<std::string> out{THERMOCLINED,
                                 "--mover",
                                 "dry",
                                 "--interval",
                                 "50",
                                 "--ready-fd",
                                 "9",
                                 "--socket",
                                 scratch / "api.sock",
                                 "--listen",
                                 address,
                                 "--keys",
                                 scratch / "server",
                                 "--clients",
                                 scratch / "clients"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  // The code of the answer, "ok", or "none" when nobody answered.
  std::string ask_as(const std::string& who, const std::string& op) {
    zmq::context_t context(1);
    zmq::socket_t client(context, zmq::socket_type::req);
    client.set(zmq::sockopt::linger, 0);
    client.set(zmq::sockopt::rcvtimeo, who.empty() ? 700 : 10'000);
    if (!who.empty()) show_keys(client, who);
    client.connect(address);
    const nlohmann::json request = {{"v", 1}, {"op", op}};
    client.send(zmq::buffer(request.dump()), zmq::send_flags::none);
    zmq::message_t reply;
    if (!client.recv(reply)) return "none";
    const auto answer =
        nlohmann::json::parse(reply.to_string_view(), nullptr, false);
    if (answer["ok"] == true) return "ok";
    return answer["error"]["code"].get<std::string>();
  }
  void show_keys(zmq::socket_t& client, const std::string& who) {
    const auto keys = read_keys(scratch / who);
    client.set(zmq::sockopt::curve_serverkey,
               *read_key(scratch / "server/public.key"));
    client.set(zmq::sockopt::curve_publickey, keys->public_key);
    client.set(zmq::sockopt::curve_secretkey, keys->secret_key);
  }
  Scratch scratch;
  std::string address;
};

TEST_F(Remote, KeysMakeRoles) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  EXPECT_EQ(ask_as("eve", "status"), "ok");
  EXPECT_EQ(ask_as("eve", "pause"), "ok");
  EXPECT_EQ(ask_as("ada", "status"), "ok");
  EXPECT_EQ(ask_as("ada", "resume"), "permission");
  EXPECT_EQ(ask_as("ada", "shutdown"), "permission");
  EXPECT_EQ(ask_as("mallory", "status"), "permission");
  EXPECT_EQ(ask_as("", "status"), "none") << "without keys";
  EXPECT_EQ(ask_daemon(scratch / "api.sock", {{"op", "status"}})["paused"],
            true)
      << "the owner's socket goes on";
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  for (const char* line : {"eve asked to pause {}: done",
                           "ada asked to resume {}: resume needs the operator",
                           "was refused: it is not on the list of clients"}) {
    EXPECT_NE(daemon.output().find(line), std::string::npos) << daemon.output();
  }
}

TEST_F(Remote, EventsAreForThoseOnTheList) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  zmq::context_t context(1);
  const auto subscribe = [&](const std::string& who) {
    zmq::socket_t events(context, zmq::socket_type::sub);
    events.set(zmq::sockopt::linger, 0);
    show_keys(events, who);
    events.set(zmq::sockopt::subscribe, "window");
    events.connect(*events_address(address));
    return events;
  };
  auto ada = subscribe("ada");
  auto mallory = subscribe("mallory");
  ada.set(zmq::sockopt::rcvtimeo, 10'000);
  zmq::message_t topic;
  ASSERT_TRUE(ada.recv(topic));
  EXPECT_EQ(topic.to_string_view(), "window");
  mallory.set(zmq::sockopt::rcvtimeo, 700);
  EXPECT_FALSE(mallory.recv(topic));
}

TEST_F(Remote, TooManyRequestsAreRefusedCheaply) {
  Child daemon(command({"--rate", "1"}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  std::map<std::string, int> codes;
  for (int i = 0; i < 12; ++i) ++codes[ask_as("ada", "version")];
  EXPECT_GE(codes["ok"], 1);
  EXPECT_EQ(codes["none"], 0) << "every request is answered";
  EXPECT_EQ(codes["ok"] + codes["too_many"], 12);
  // However slow the machine, some come within a second of each other.
  for (int i = 0; i < 100 && codes["too_many"] == 0; ++i) {
    ++codes[ask_as("ada", "version")];
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_NE(daemon.output().find("ada was refused: it asks more often"),
            std::string::npos)
      << daemon.output();
}

TEST_F(Remote, NothingIsServedWithoutKeys) {
  const auto refused = [&](std::vector<std::string> words,
                           const std::string& naming) {
    words.insert(words.begin(), {THERMOCLINED, "--mover", "dry", "--socket",
                                 scratch / "api.sock"});
    Child daemon(words);
    EXPECT_EQ(daemon.wait(), 1) << daemon.output();
    EXPECT_NE(daemon.output().find(naming), std::string::npos)
        << daemon.output();
  };
  refused({"--listen", address}, "--keys");
  refused({"--listen", address, "--keys", scratch / "server"}, "--clients");
  refused({"--listen", "7411", "--keys", "x", "--clients", "y"},
          "tcp://ADDRESS:PORT");
  refused({"--listen", address, "--keys", scratch / "none", "--clients",
           scratch / "clients"},
          "keygen");
  ::chmod((scratch / "server/secret.key").c_str(), 0644);
  refused({"--listen", address, "--keys", scratch / "server", "--clients",
           scratch / "clients"},
          "chmod 600");
}

}  // namespace
}  // namespace thermocline
