// A real thermoclined among many clients, subscribers that never read or die,
// and with a policy that hangs.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <functional>
#include <memory>

#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::size_t kMiB = 1 << 20;

// Memory that a process has written.
std::size_t own_bytes(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string word;
  std::size_t kib = 0;
  while (status >> word && word != "RssAnon:") {
  }
  status >> kib;
  return kib * 1024;
}

// A child of the test that does one thing and then nothing more.
class Idler {
 public:
  explicit Idler(const std::function<bool()>& begin) {
    int began[2];
    if (::pipe2(began, O_CLOEXEC) != 0) abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      const char byte = begin() ? 'y' : 'n';
      if (::write(began[1], &byte, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(began[1]);
    char byte = 'n';
    well_ = ::read(began[0], &byte, 1) == 1 && byte == 'y';
    ::close(began[0]);
  }
  Idler(const Idler&) = delete;
  Idler& operator=(const Idler&) = delete;
  ~Idler() { end(); }
  void end() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }
  bool well() const { return well_; }
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  bool well_ = false;
};

// Subscribes, hears of one window, and stops for good, all its threads: what
// comes then stays in the daemon or is dropped there.
std::unique_ptr<Idler> deaf_subscriber(const std::string& socket) {
  auto out = std::make_unique<Idler>([&] {
    auto* context = new zmq::context_t(1);
    auto* events = new zmq::socket_t(*context, zmq::socket_type::sub);
    events->set(zmq::sockopt::subscribe, "");
    events->set(zmq::sockopt::rcvtimeo, 10'000);
    events->connect("ipc://" + socket + ".events");
    zmq::message_t topic;
    return events->recv(topic).has_value();
  });
  ::kill(out->pid(), SIGSTOP);
  return out;
}

class CrowdLive : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::string& at,
                                   const std::vector<std::string>& more) const {
    std::vector<std::string> out{THERMOCLINED, "--ready-fd", "9", "--socket",
                                 at};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::uint64_t windows() const {
    const auto status = ask_daemon(socket, {{"op", "status"}});
    return status.is_object() ? status.value("windows", std::uint64_t{0}) : 0;
  }
  // Asks until so many windows have passed, every request answered. False: one
  // was not, or the windows stand still.
  bool passes(std::uint64_t wanted) const {
    const auto until = windows() + wanted;
    std::uint64_t last = 0;
    for (int still = 0; still < 300;) {
      const auto now = windows();
      if (now == 0) return false;
      if (now >= until) return true;
      still = now == last ? still + 1 : 0;
      last = now;
      ::usleep(20'000);
    }
    return false;
  }
  Scratch scratch;
  const std::string socket = scratch / "api.sock";
};

// So many at once as a file limit of the test's own allows, all before the
// first answer is read.
void ask_as_many(const std::string& socket, int clients, int& answered) {
  zmq::context_t context(1);
  context.set(zmq::ctxopt::max_sockets, clients + 1);
  std::vector<zmq::socket_t> all;
  for (int i = 0; i < clients; ++i) {
    auto& one = all.emplace_back(context, zmq::socket_type::dealer);
    one.set(zmq::sockopt::linger, 0);
    one.set(zmq::sockopt::rcvtimeo, 20'000);
    one.connect("ipc://" + socket);
    const json request = {{"v", 1}, {"op", "status"}, {"id", i}};
    one.send(zmq::buffer(request.dump()), zmq::send_flags::none);
  }
  answered = 0;
  for (int i = 0; i < clients; ++i) {
    zmq::message_t reply;
    if (!all[static_cast<std::size_t>(i)].recv(reply)) return;
    const auto answer = json::parse(reply.to_string_view(), nullptr, false);
    answered += answer["ok"] == true && answer["id"] == i;
  }
}

// More clients than a process may have files by default; the daemon sees to its
// own limit.
TEST_F(CrowdLive, AThousandClientsAreAnsweredInBoundedMemory) {
  constexpr int kClients = 1000;
  Child daemon(command(socket, {"--mover", "dry", "--interval", "50"}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 4 * kClients) {
    GTEST_SKIP() << "this user may have " << limit.rlim_max << " files only";
  }
  const auto crowds = [&](int count) {
    int answered = 0;
    for (int crowd = 0; crowd < count; ++crowd) {
      ask_as_many(socket, kClients, answered);
      EXPECT_EQ(answered, kClients);
    }
    return own_bytes(daemon.pid());
  };
  const auto alone = own_bytes(daemon.pid());
  const auto one = crowds(1) - alone;
  // The heap frays a while until what crowds leave behind fits the next.
  const auto before = crowds(5);
  const auto after = crowds(5);
  EXPECT_LT(after, before + one / 2)
      << one << " bytes for the first crowd, " << before << " after six";
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0) << daemon.output();
}

TEST_F(CrowdLive, SubscribersThatNeverReadOrDieHoldNobodyUp) {
  Child daemon(command(socket, {"--mover", "dry", "--interval", "1"}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  std::vector<std::unique_ptr<Idler>> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.push_back(deaf_subscriber(socket));
    ASSERT_TRUE(deaf.back()->well());
  }
  // ZeroMQ keeps a thousand messages for each, here and in the sockets between;
  // what comes after these is dropped.
  ASSERT_TRUE(passes(3000));
  const auto full = own_bytes(daemon.pid());
  ASSERT_TRUE(passes(3000));
  EXPECT_LT(own_bytes(daemon.pid()), full + kMiB) << "a window is kept for it";
  for (auto& one : deaf) one->end();
  ASSERT_TRUE(passes(1000));
  EXPECT_LT(own_bytes(daemon.pid()), full + kMiB);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0) << daemon.output();
}

// A program that is asked and says nothing, for longer than a policy may think:
// it is waited for once, and no window after that.
TEST_F(CrowdLive, APolicyThatHangsLeavesNoRequestUnanswered) {
  Idler job([] { return true; });
  zmq::context_t context(1);
  zmq::socket_t silent(context, zmq::socket_type::router);
  silent.set(zmq::sockopt::linger, 0);
  silent.bind("ipc://" + (scratch / "policy.sock"));
  const json options = {{"endpoint", "ipc://" + (scratch / "policy.sock")},
                        {"deadline_ms", 60'000}};
  Child daemon(command(
      socket,
      {"--mover", "dry", "--interval", "50", "--policy", "external",
       "--options", options.dump(), "--pid", std::to_string(job.pid())}));
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  const auto late = [&] {
    const auto status = ask_daemon(socket, {{"op", "status"}});
    if (!status.is_object()) return -1;
    return status["policy_counts"][std::to_string(job.pid())].value(
        "late_decisions", 0);
  };
  int now = 0;
  for (int tries = 0; tries < 600 && now == 0; ++tries) {
    now = late();
    ::usleep(20'000);
  }
  EXPECT_EQ(now, 1);
  EXPECT_TRUE(passes(20));
  EXPECT_EQ(late(), 1) << "it is not asked while it hangs";
}

}  // namespace
}  // namespace thermocline
