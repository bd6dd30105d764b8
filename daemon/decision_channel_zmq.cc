// Channel "zmq": requests to a program that listens on a ZeroMQ REP or ROUTER
// socket. With server.cc and client.cc, all that speaks ZeroMQ.
//
// The socket must be a Unix socket of the daemon's own user or of root: whoever
// listens there decides where memory lies. A request that is not answered in
// time goes with its connection, so that no late answer is taken for a new one.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <zmq.hpp>

#include "policies/decision_channel.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

// Policies refuse less than this; beyond it ZeroMQ drops the connection.
constexpr std::int64_t kLargestMessage = std::int64_t{4} << 20;
constexpr std::size_t kLongestPath = 100;  // of a Unix socket's name
constexpr std::string_view kScheme = "ipc://";

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class ZmqChannel final : public DecisionChannel {
 public:
  struct Options {
    std::string endpoint;
    void fields(auto& f) {
      f("endpoint", endpoint, "where the program listens");
    }
  };
  static Result<std::unique_ptr<DecisionChannel>> make(Options options) {
    const auto& to = options.endpoint;
    if (!to.starts_with("ipc:///") || to.ends_with('/')) {
      return invalid("option \"endpoint\" is \"" + to +
                     "\"; name the Unix socket on which your program listens, "
                     "as in ipc:///run/policy.sock");
    }
    if (to.size() > kScheme.size() + kLongestPath) {
      return invalid("option \"endpoint\" is too long for a Unix socket");
    }
    return std::unique_ptr<DecisionChannel>(std::make_unique<ZmqChannel>(to));
  }
  explicit ZmqChannel(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  Result<std::string> ask(const std::string& request, Nanos deadline) override {
    if (auto ours = check_owner(); !ours) return ours.error();
    const auto until = Clock::now() + std::chrono::nanoseconds(deadline);
    try {
      const bool fresh = !wire_;
      if (fresh) wire_ = std::make_unique<Wire>(endpoint_);
      zmq::pollitem_t out{wire_->socket, 0, ZMQ_POLLOUT, 0};
      if (zmq::poll(&out, 1, fresh ? left(until) : milliseconds(0)) == 0) {
        return not_found("no program listens at " + endpoint_ + "; start it");
      }
      wire_->socket.send(zmq::message_t(),
                         zmq::send_flags::sndmore | zmq::send_flags::dontwait);
      wire_->socket.send(zmq::buffer(request), zmq::send_flags::dontwait);
      zmq::pollitem_t in{wire_->socket, 0, ZMQ_POLLIN, 0};
      if (zmq::poll(&in, 1, left(until)) == 0) {
        wire_.reset();
        return io("it did not answer within " +
                  std::to_string(deadline / 1'000'000) + " ms");
      }
      zmq::message_t frame;
      do {
        if (!wire_->socket.recv(frame, zmq::recv_flags::dontwait)) break;
      } while (frame.more());
      return frame.to_string();
    } catch (const zmq::error_t& error) {
      wire_.reset();
      return io("asking " + endpoint_ + ": " + error.what());
    }
  }

 private:
  struct Wire {
    explicit Wire(const std::string& endpoint) {
      socket.set(zmq::sockopt::linger, 0);
      // Nothing is kept for a program that is not there.
      socket.set(zmq::sockopt::immediate, 1);
      socket.set(zmq::sockopt::sndhwm, 1);
      socket.set(zmq::sockopt::rcvhwm, 2);
      socket.set(zmq::sockopt::maxmsgsize, kLargestMessage);
      socket.connect(endpoint);
    }
    zmq::context_t context{1};
    zmq::socket_t socket{context, zmq::socket_type::dealer};
  };

  Status check_owner() const {
    struct stat seen {};
    const std::string path = endpoint_.substr(kScheme.size());
    if (::stat(path.c_str(), &seen) != 0) {
      return not_found("no program listens at " + endpoint_ + "; start it");
    }
    if (seen.st_uid == ::geteuid() || seen.st_uid == 0) return {};
    return permission(path + " belongs to another user, who must not decide");
  }

  static milliseconds left(Clock::time_point until) {
    const auto time = std::chrono::ceil<milliseconds>(until - Clock::now());
    return std::max(time, milliseconds(0));
  }

  std::string endpoint_;
  std::unique_ptr<Wire> wire_;
};

const Register<DecisionChannel> kEntry{
    "zmq",
    entry<DecisionChannel, ZmqChannel>("A ZeroMQ REP or ROUTER socket.")};

}  // namespace
}  // namespace thermocline
