#include "training/elastic/member.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <zmq.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

constexpr int kPatienceMs = 5000;  // for the answer to the last word

}  // namespace

struct Member::Impl {
  Ranks* ranks = nullptr;
  int run = 0;
  bool coordinated = false;  // the same on all ranks
  bool asked = false;        // to end; known on rank 0
  zmq::context_t context{1};
  zmq::socket_t socket;  // rank 0

  // What is lost when nobody listens is lost; the job goes on.
  void say(json words) {
    if (!socket) return;
    words["v"] = 1;
    words["run"] = run;
    try {
      socket.send(zmq::buffer(words.dump()), zmq::send_flags::dontwait);
    } catch (const zmq::error_t&) {
      socket.close();
    }
  }

  // The next message; null when there is none in time.
  json hear(int timeout_ms) {
    if (!socket) return nullptr;
    try {
      socket.set(zmq::sockopt::rcvtimeo, timeout_ms);
      zmq::message_t message;
      if (!socket.recv(message)) return nullptr;
      auto heard = json::parse(message.to_string_view(), nullptr, false);
      if (!heard.is_object()) return json::object();
      if (heard.value("end", false)) asked = true;
      return heard;
    } catch (const zmq::error_t&) {
      socket.close();
      return nullptr;
    }
  }

  // The process may end at once after this: it waits until it was heard.
  void say_last(const char* op) {
    if (!socket) return;
    say({{"op", op}});
    for (;;) {
      const json heard = hear(kPatienceMs);
      if (heard.is_null() || heard.contains("heard")) return;
    }
  }
};

Member::Member(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Member::Member(Member&&) noexcept = default;
Member& Member::operator=(Member&&) noexcept = default;
Member::~Member() = default;

Result<Member> Member::join(Ranks& ranks) {
  auto impl = std::make_unique<Impl>();
  impl->ranks = &ranks;
  const char* where = std::getenv("THERMOCLINE_JOB");
  const char* run = std::getenv("THERMOCLINE_JOB_RUN");
  std::string trouble;
  if (ranks.rank() == 0 && where != nullptr && run != nullptr) {
    impl->run = std::atoi(run);
    try {
      impl->socket = zmq::socket_t(impl->context, zmq::socket_type::dealer);
      impl->socket.set(zmq::sockopt::linger, 0);
      impl->socket.connect("ipc://" + std::string(where));
    } catch (const zmq::error_t& error) {
      trouble = "the job's coordinator on " + std::string(where) + ": " +
                error.what() + "; is $THERMOCLINE_JOB right?";
    }
  }
  // mpirun does not hand the environment on to other hosts: rank 0 tells.
  const auto all = ranks.gather(trouble.empty() ? impl->run : -1);
  if (!all) return all.error();
  if (!trouble.empty()) return io(trouble);
  if ((*all)[0] < 0) {
    return io("rank 0 cannot reach the job's coordinator; see what it said");
  }
  impl->run = static_cast<int>((*all)[0]);
  impl->coordinated = impl->run > 0;
  return Member(std::move(impl));
}

int Member::run() const { return impl_->run; }

void Member::began(std::uint64_t steps) {
  impl_->say({{"op", "began"}, {"step", steps}});
}

Result<bool> Member::stepped(std::uint64_t steps, double loss) {
  if (!impl_->coordinated) return false;
  impl_->say({{"op", "stepped"}, {"step", steps}, {"loss", loss}});
  while (!impl_->hear(0).is_null()) {
  }
  const auto all = impl_->ranks->gather(impl_->asked ? 1 : 0);
  if (!all) return all.error();
  return (*all)[0] != 0;
}

void Member::saved(std::uint64_t steps) {
  impl_->say({{"op", "saved"}, {"step", steps}});
}

void Member::left() { impl_->say_last("left"); }

void Member::finished() { impl_->say_last("finished"); }

}  // namespace thermocline
