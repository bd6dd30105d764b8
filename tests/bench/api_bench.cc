// What the query API costs beside a bare ZeroMQ echo, in one run; how long
// `thermocline query` takes; and what many, slow and dead clients do to it.
//   api_bench BINARY_DIRECTORY [--seconds N]
// Echo and service run in turn, in an order thrown anew each round, each in a
// process of its own, so that both see the same machine. Exit status 1 when a
// goal is missed beyond doubt: 80 % of the echo's rate for `version`, a p99 of
// at most twice its, 30 ms for a query, and an answer to every client.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kInFlight = 64;
constexpr int kRounds = 31;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

double at(std::vector<double> sorted, double share) {
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last)];
}

// Sends back what comes, as simply as can be; to what `asks` says, `answer`.
[[noreturn]] void echo(const std::string& address, const std::string& asks,
                       const std::string& answer) {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::router);
  socket.bind(address);
  for (;;) {
    zmq::message_t frame;
    bool more = true;
    while (more) {
      if (!socket.recv(frame)) continue;
      more = frame.more();
      if (!more && frame.to_string_view() == asks) {
        socket.send(zmq::buffer(answer), zmq::send_flags::none);
        continue;
      }
      socket.send(frame,
                  more ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
}

pid_t start(const std::vector<std::string>& words) {
  std::fflush(stdout);  // or the child writes it once more
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::vector<char*> raw;
  for (const auto& word : words) raw.push_back(const_cast<char*>(word.c_str()));
  raw.push_back(nullptr);
  if (::freopen("/dev/null", "w", stdout) == nullptr ||
      ::freopen("/dev/null", "w", stderr) == nullptr) {
    ::_exit(126);
  }
  ::execv(raw[0], raw.data());
  ::_exit(127);
}

// What the service says to a request.
std::string answer_to(const std::string& address, const std::string& request) {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 10'000);
  socket.connect(address);
  socket.send(zmq::buffer(request), zmq::send_flags::none);
  zmq::message_t reply;
  if (!socket.recv(reply)) {
    std::fprintf(stderr, "api_bench: no answer from %s\n", address.c_str());
    std::exit(1);
  }
  return reply.to_string();
}

struct Figures {
  std::vector<double> rates;         // requests/s, a round
  std::vector<double> latencies_us;  // one at a time
};

// A request that ends in `"id":` gets a number of its own each time.
void measure(zmq::context_t& context, const std::string& address,
             const std::string& request, double seconds, Figures& out) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 10'000);
  socket.connect(address);
  std::string text = request;
  long id = 0;
  const auto send = [&] {
    if (request.back() == ':') {
      text.resize(request.size());
      text += std::to_string(++id) + "}";
    }
    socket.send(zmq::buffer(text), zmq::send_flags::none);
  };
  zmq::message_t reply;
  const auto receive = [&] {
    if (socket.recv(reply)) return;
    std::fprintf(stderr, "api_bench: no answer from %s\n", address.c_str());
    std::exit(1);
  };
  // Warm.
  for (int i = 0; i < 200; ++i) send(), receive();
  for (int i = 0; i < kInFlight; ++i) send();
  auto began = Clock::now();
  long count = 0;
  for (; seconds_since(began) < seconds; ++count) receive(), send();
  out.rates.push_back(static_cast<double>(count) / seconds_since(began));
  for (int i = 0; i < kInFlight; ++i) receive();
  began = Clock::now();
  while (seconds_since(began) < seconds) {
    const auto asked = Clock::now();
    send(), receive();
    out.latencies_us.push_back(1e6 * seconds_since(asked));
  }
}

void print(const char* what, const Figures& of) {
  std::printf("%-24s %9.0f requests/s   median %6.1f us   p99 %6.1f us\n", what,
              at(of.rates, 0.5), at(of.latencies_us, 0.5),
              at(of.latencies_us, 0.99));
}

// Missed goals, in words, for the exit status.
int missed = 0;
void want(bool reached, const char* goal) {
  if (reached) return;
  ++missed;
  std::printf("MISSED: %s\n", goal);
}

// How `of`'s rate compares with the echo's of the same round: the median, and
// where it lies 95 times of 100, by ranks, whatever the noise looks like.
// Returns: the upper end.
double print_share(const char* what, const Figures& of, const Figures& echo) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < of.rates.size(); ++i) {
    shares.push_back(100 * of.rates[i] / echo.rates[i]);
  }
  const auto count = static_cast<double>(shares.size());
  const double skip = (0.5 - 0.98 / std::sqrt(count)) * count / (count - 1);
  const double most = at(shares, std::min(1.0, 1 - skip));
  std::printf(
      "%-24s %3.0f %% of the echo's rate (95 %% sure: %.0f to %.0f %%), p99 "
      "%.2f times its\n",
      what, at(shares, 0.5), at(shares, std::max(0.0, skip)), most,
      at(of.latencies_us, 0.99) / at(echo.latencies_us, 0.99));
  return most;
}

// Milliseconds of a whole `thermocline query`.
double query_ms(const std::string& bin, const std::string& socket) {
  std::vector<double> all;
  for (int i = 0; i < 21; ++i) {
    const auto began = Clock::now();
    const pid_t child =
        start({bin + "/thermocline", "query", "status", "--socket", socket});
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return -1;
    all.push_back(1e3 * seconds_since(began));
  }
  return at(all, 0.5);
}

// A thousand clients at once, each with one request; how many were answered,
// and the seconds that it took.
void many_clients(zmq::context_t& context, const std::string& address,
                  const std::string& request) {
  constexpr int kClients = 1000;
  const auto began = Clock::now();
  std::vector<zmq::socket_t> all;
  for (int i = 0; i < kClients; ++i) {
    all.emplace_back(context, zmq::socket_type::dealer);
    all.back().set(zmq::sockopt::linger, 0);
    all.back().set(zmq::sockopt::rcvtimeo, 10'000);
    all.back().connect(address);
    all.back().send(zmq::buffer(request), zmq::send_flags::none);
  }
  int answered = 0;
  zmq::message_t reply;
  for (auto& one : all) answered += one.recv(reply) ? 1 : 0;
  std::printf("%d clients at once: %d answered in %.2f s\n", kClients, answered,
              seconds_since(began));
  want(answered == kClients, "each of a thousand clients has its answer");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string bin = argc > 1 ? argv[1] : "build/release/bin";
  double seconds = 0.3;
  if (argc > 3 && std::string(argv[2]) == "--seconds") {
    seconds = std::atof(argv[3]);
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::string base = "/tmp/api_bench." + std::to_string(::getpid());
  const pid_t service =
      start({bin + "/thermoclined", "--mover", "dry", "--interval", "100",
             "--socket", base + ".sock"});
  for (int i = 0; i < 200 && ::access((base + ".sock").c_str(), F_OK) != 0;
       ++i) {
    ::usleep(20'000);
  }
  const std::string version = R"({"v":1,"op":"version"})";
  const std::string with_id = R"({"v":1,"op":"version","id":)";
  const std::string status = R"({"v":1,"op":"status"})";
  const std::string echo_at = "ipc://" + base + ".echo";
  const std::string service_at = "ipc://" + base + ".sock";
  // Before any thread of ZeroMQ's, which a fork would not take along.
  const std::string answer = answer_to(service_at, status);
  const pid_t bare = ::fork();
  if (bare == 0) echo(echo_at, status, answer);
  zmq::context_t context(1);
  context.set(zmq::ctxopt::max_sockets, 4000);
  struct Contender {
    const char* name;
    const std::string& address;
    const std::string& request;
    Figures figures;
  };
  Contender all[] = {{"bare ZeroMQ echo", echo_at, version, {}},
                     {"echo as long as status", echo_at, status, {}},
                     {"thermoclined, version", service_at, version, {}},
                     {"  the same, with an id", service_at, with_id, {}},
                     {"thermoclined, status", service_at, status, {}}};
  std::mt19937 dice(1);
  std::vector<Contender*> order;
  for (auto& one : all) order.push_back(&one);
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), dice);
    for (auto* one : order) {
      measure(context, one->address, one->request, seconds, one->figures);
    }
  }
  for (const auto& one : all) print(one.name, one.figures);
  for (const auto& one : std::span(all).subspan(1)) {
    const double most = print_share(one.name, one.figures, all[0].figures);
    if (&one != &all[2]) continue;  // whose answer is as long as the echo's
    want(most >= 80, "80 % of the echo's rate");
    want(at(one.figures.latencies_us, 0.99) <=
             2 * at(all[0].figures.latencies_us, 0.99),
         "a p99 of at most twice the echo's");
  }
  std::printf("beside an echo whose answers are as long (%zu bytes):\n",
              answer.size());
  print_share(all[4].name, all[4].figures, all[1].figures);
  const double query = query_ms(bin, base + ".sock");
  std::printf("thermocline query status: %.1f ms from start to end\n", query);
  want(query >= 0 && query <= 30, "a query within 30 ms");
  many_clients(context, "ipc://" + base + ".sock", version);
  // Subscribers that never read, while windows are published.
  std::vector<zmq::socket_t> dead;
  for (int i = 0; i < 20; ++i) {
    dead.emplace_back(context, zmq::socket_type::sub);
    dead.back().set(zmq::sockopt::linger, 0);
    dead.back().set(zmq::sockopt::rcvhwm, 1);
    dead.back().set(zmq::sockopt::subscribe, "");
    dead.back().connect("ipc://" + base + ".sock.events");
  }
  Figures beside;
  measure(context, service_at, version, 10 * seconds, beside);
  print("beside 20 that never read", beside);
  ::kill(bare, SIGKILL);
  ::kill(service, SIGTERM);
  ::waitpid(bare, nullptr, 0);
  ::waitpid(service, nullptr, 0);
  ::unlink((base + ".echo").c_str());
  return missed == 0 ? 0 : 1;
}
