// The loop and all threads beside it in one process: moves, the policy, the
// state, ZeroMQ's own; and clients that ask, change, subscribe and scrape.
#include "daemon/loop.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "daemon/keys.h"
#include "daemon/state_keeper.h"
#include "tests/daemon/thermoclined_process.h"
#include "tests/daemon/threaded_kernel.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr Address kBase = Address{1} << 30;
constexpr Bytes kGiB = Bytes{1} << 30;

// Wants everything elsewhere, always.
class Restless final : public Policy {
 public:
  std::vector<Move> decide(const View& view) override {
    std::vector<Move> out;
    for (const auto& one : view.objects) {
      out.push_back({one.id, one.tier, static_cast<TierId>(1 - one.tier)});
    }
    return out;
  }
  double heat(ObjectId) const override { return 1; }
  std::string explain(ObjectId) const override { return "a change is good"; }
};

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, raw, size) != 0 || ::getsockname(fd, raw, &size) != 0) abort();
  ::close(fd);
  return ntohs(address.sin_port);
}

std::string scrape(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  std::string out;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) ==
          0 &&
      ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(fd, buffer, sizeof buffer, 0);
      if (got > 0) out.append(buffer, static_cast<std::size_t>(got));
    }
  }
  ::close(fd);
  return out;
}

class LoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.tables.add_node(0, kGiB, kGiB / 2);
    kernel.tables.add_node(1, kGiB, kGiB / 2);
    kernel.tables.add_process(7, kBase, 4 * 64, 1);
    kernel.tables.add_process(8, 2 * kBase, 4 * 64, 1);
    Service::Options options;
    options.guards.residence = 0;
    options.target.tied.patience = 60'000'000'000;
    auto made = Service::make(
        kernel, scripted_machine(), options,
        [](const std::string&, const std::string&) {
          return Result<std::unique_ptr<Policy>>(std::make_unique<Restless>());
        });
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(7));
    open_server();
    ASSERT_TRUE(server);
    sources.emplace(*Sources::open("none"));
    keeper.emplace(
        kernel, *service, State(),
        [this](std::string_view) {
          ++writes;
          return Status();
        },
        [] { return std::int64_t{1000}; }, StateKeeper::Options{5'000'000});
    const auto quiet = [](const std::string&) {};
    loop.emplace(Loop::Parts{kernel,
                             *service,
                             *server,
                             *sources,
                             nullptr,
                             -1,
                             quiet,
                             quiet,
                             {},
                             [this] { keeper->window_ended(); }},
                 Loop::Options{5'000'000, false, /*sampled=*/false});
  }
  // With all that it can listen on. Another may take a port meanwhile.
  void open_server() {
    Server::Options served;
    served.path = scratch / "api.sock";
    served.keys = scratch / "keys";
    served.clients = scratch / "clients";
    served.requests_per_s = 0;
    const auto key = make_keys(served.keys);
    ASSERT_TRUE(key) << key.error().message;
    std::ofstream(served.clients) << "operator " << *key << " eve\n";
    for (int i = 0; i < 20 && !server; ++i) {
      served.metrics_port = port = free_port();
      served.listen = tcp = "tcp://127.0.0.1:" + std::to_string(free_port());
      if (auto opened = Server::open(served))
        server.emplace(*std::move(opened));
    }
  }
  json ask(json request) {
    return ask_daemon(scratch / "api.sock", std::move(request));
  }
  // Over TCP, as a client that has the service's own pair of keys.
  bool ask_from_afar() {
    zmq::context_t context(1);
    zmq::socket_t client(context, zmq::socket_type::req);
    client.set(zmq::sockopt::linger, 0);
    client.set(zmq::sockopt::rcvtimeo, 20'000);
    const auto keys = read_keys(scratch / "keys");
    client.set(zmq::sockopt::curve_serverkey, keys->public_key);
    client.set(zmq::sockopt::curve_publickey, keys->public_key);
    client.set(zmq::sockopt::curve_secretkey, keys->secret_key);
    client.connect(tcp);
    client.send(zmq::str_buffer(R"({"v":1,"op":"status"})"),
                zmq::send_flags::none);
    zmq::message_t reply;
    return client.recv(reply) &&
           reply.to_string_view().find("\"ok\":true") != std::string_view::npos;
  }

  Scratch scratch;
  ThreadedKernel kernel;
  std::unique_ptr<Service> service;
  std::optional<Server> server;
  std::optional<Sources> sources;
  std::optional<StateKeeper> keeper;
  std::optional<Loop> loop;
  std::atomic<int> writes{0};
  int port = 0;
  std::string tcp;
};

TEST_F(LoopTest, AnswersEveryoneWhileItDecidesAndMoves) {
  std::atomic<bool> over{false};
  std::thread time([&] {  // ten times the real one's speed
    for (; !over; ::usleep(500)) {
      kernel.change([](ScriptedKernel& k) { k.time += 5'000'000; });
    }
  });
  Status ended = invalid("has not run");
  std::thread looping([&] { ended = loop->run(); });

  std::vector<std::int64_t> heard;
  std::thread subscriber([&] {
    zmq::context_t context(1);
    zmq::socket_t events(context, zmq::socket_type::sub);
    events.set(zmq::sockopt::linger, 0);
    events.set(zmq::sockopt::rcvtimeo, 20'000);
    events.set(zmq::sockopt::subscribe, "window");
    events.connect("ipc://" + (scratch / "api.sock.events"));
    zmq::message_t frame;
    while (heard.size() < 20 && events.recv(frame) && events.recv(frame)) {
      heard.push_back(json::parse(frame.to_string_view())["window"]);
    }
  });
  const std::vector<json> requests = {
      {{"op", "version"}},
      {{"op", "status"}},
      {{"op", "targets"}},
      {{"op", "attach"}, {"pid", 8}},
      {{"op", "heat"}},
      {{"op", "explain"}, {"address", kBase}},
      {{"op", "set_budget"}, {"bytes_per_s", std::int64_t{1} << 30}},
      {{"op", "set_policy"}, {"name", "restless"}},
      {{"op", "metrics"}},
      {{"op", "detach"}, {"pid", 8}},
      {{"op", "history"}},
      {{"op", "nonsense"}}};
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        for (const auto& one : requests) answered += ask(one).is_object();
      }
    });
  }
  std::string scraped;
  std::thread scraper([&] { scraped = scrape(port); });
  bool from_afar = false;
  std::thread afar([&] { from_afar = ask_from_afar(); });
  for (auto& one : clients) one.join();
  scraper.join();
  afar.join();
  subscriber.join();
  EXPECT_EQ(ask({{"op", "shutdown"}})["ok"], true);
  looping.join();
  over = true;
  time.join();
  keeper->finish();

  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(answered, 3 * 3 * static_cast<int>(requests.size()));
  EXPECT_TRUE(from_afar);
  EXPECT_NE(scraped.find("\nthermocline_windows_total "), std::string::npos);
  ASSERT_EQ(heard.size(), 20u);
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
  EXPECT_GT(service->moves().moved_bytes(), 0u);
  EXPECT_GT(writes, 0);
  const auto& notices = service->notices().lines();
  ASSERT_EQ(notices.size(), 1u) << "said once, however many targets come";
  for (const char* part :
       {"source none", "no page will move", "perf", "thermocline doctor"}) {
    EXPECT_NE(notices[0].find(part), std::string::npos) << notices[0];
  }
}

TEST_F(LoopTest, WithoutTargetsItDoesNotAskForSamples) {
  ASSERT_TRUE(service->detach(7));
  std::thread looping([&] { EXPECT_TRUE(loop->run()); });
  EXPECT_EQ(ask({{"op", "status"}})["notices"], json::array());
  EXPECT_EQ(ask({{"op", "shutdown"}})["ok"], true);
  looping.join();
}

}  // namespace
}  // namespace thermocline
