// The budget of thermoclined, asked for over its socket (daemon/API.md).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <zmq.hpp>

#include "training/bandwidth.h"

namespace thermocline {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kPatience = milliseconds(1000);    // for one answer
constexpr auto kAskAgain = milliseconds(5000);    // after none came
constexpr auto kLongestWait = milliseconds(500);  // between two requests
// Asked for at least, and kept: a request costs as much as copying 1 MB.
constexpr Bytes kAtOnce = Bytes{1} << 20;

class FromDaemon final : public Bandwidth {
 public:
  explicit FromDaemon(BandwidthOptions options) : options_(std::move(options)) {
    static std::atomic<int> serial{0};
    name_ = options_.name + " of " + std::to_string(::getpid());
    if (const int before = serial++; before > 0) {
      name_ += "." + std::to_string(before);
    }
  }
  ~FromDaemon() override {
    if (!socket_) return;
    socket_->set(zmq::sockopt::linger, 100);
    socket_->set(zmq::sockopt::sndtimeo, 0);
    send({{"op", "leave_budget"}, {"name", name_}});
  }

  void take(Bytes bytes) override {
    std::unique_lock hold(mutex_);
    use_.taken += bytes;
    if (waiting_++ == 0) waiting_since_ = Clock::now();
    bytes -= from_purse(bytes);
    while (bytes > 0) {
      const auto grant = ask(bytes, 0);
      if (!grant) break;
      purse_ += grant->bytes;
      bytes -= from_purse(bytes);
      if (bytes == 0) break;
      hold.unlock();
      std::this_thread::sleep_for(grant->wait);
      hold.lock();
      bytes -= from_purse(bytes);
    }
    if (--waiting_ > 0) return;
    use_.waited_s += waited_now();
  }

  Bytes take_now(Bytes bytes) override {
    const std::scoped_lock hold(mutex_);
    Bytes out = from_purse(bytes);
    if (out < bytes) {
      if (const auto grant = ask(bytes - out, 0)) {
        purse_ += grant->bytes;
        out += from_purse(bytes - out);
      } else {
        out = bytes;
      }
    }
    use_.taken += out;
    return out;
  }

  void give_back(Bytes bytes) override {
    const std::scoped_lock hold(mutex_);
    use_.taken -= std::min(use_.taken, bytes);
    purse_ += bytes;
    if (purse_ <= kAtOnce) return;
    if (ask(0, purse_)) purse_ = 0;
  }

  Use use() const override {
    const std::scoped_lock hold(mutex_);
    Use out = use_;
    if (waiting_ > 0) out.waited_s += waited_now();
    return out;
  }

 private:
  struct Grant {
    Bytes bytes = 0;
    milliseconds wait{1};
  };

  double waited_now() const {
    return std::chrono::duration<double>(Clock::now() - waiting_since_).count();
  }

  Bytes from_purse(Bytes bytes) {
    const Bytes out = std::min(bytes, purse_);
    purse_ -= out;
    return out;
  }

  // Nothing: nobody shares out.
  std::optional<Grant> ask(Bytes bytes, Bytes back) {
    if (Clock::now() < alone_until_) return std::nullopt;
    const json answer =
        request({{"op", "use_budget"},
                 {"name", name_},
                 {"weight", options_.weight},
                 {"take", bytes == 0 ? 0 : std::max(bytes, kAtOnce)},
                 {"give_back", back}});
    if (answer.value("ok", false)) {
      use_.alone.clear();
      const milliseconds wait(answer.value("wait_ns", Nanos{0}) / 1'000'000);
      return Grant{answer.value("granted", Bytes{0}),
                   std::clamp(wait, milliseconds(1), kLongestWait)};
    }
    if (answer.contains("error")) {
      use_.alone = answer["error"].value("message", "");
    }
    purse_ = 0;
    alone_until_ = Clock::now() + kAskAgain;
    return std::nullopt;
  }

  // An empty object when there is no answer; `use_.alone` then says why.
  json request(const json& what) {
    use_.alone = "no thermoclined answers on " + options_.socket;
    try {
      if (!socket_ && !connect()) return json::object();
      if (!send(what)) return forget();
      zmq::message_t reply;
      if (!socket_->recv(reply)) return forget();
      json answer = json::parse(reply.to_string_view(), nullptr, false);
      return answer.is_object() ? answer : json::object();
    } catch (const zmq::error_t& error) {
      use_.alone = "asking on " + options_.socket + ": " + error.what();
      return forget();
    }
  }

  bool connect() {
    if (::access(options_.socket.c_str(), W_OK) != 0) return false;
    const int patience = static_cast<int>(kPatience.count());
    context_.emplace(1);
    socket_.emplace(*context_, zmq::socket_type::req);
    socket_->set(zmq::sockopt::linger, 0);
    socket_->set(zmq::sockopt::immediate, true);
    socket_->set(zmq::sockopt::sndtimeo, patience);
    socket_->set(zmq::sockopt::rcvtimeo, patience);
    socket_->connect("ipc://" + options_.socket);
    return true;
  }
  bool send(json what) {
    what["v"] = 1;
    try {
      return socket_->send(zmq::buffer(what.dump()), zmq::send_flags::none)
          .has_value();
    } catch (const zmq::error_t&) {
      return false;
    }
  }
  // A late answer must not be taken for another one's.
  json forget() {
    socket_.reset();
    context_.reset();
    return json::object();
  }

  const BandwidthOptions options_;
  std::string name_;
  mutable std::mutex mutex_;
  std::optional<zmq::context_t> context_;
  std::optional<zmq::socket_t> socket_;
  Bytes purse_ = 0;  // granted, and not taken yet
  Use use_;
  int waiting_ = 0;  // threads in take()
  Clock::time_point waiting_since_{};
  Clock::time_point alone_until_{};
};

}  // namespace

std::shared_ptr<Bandwidth> shared_bandwidth(BandwidthOptions options) {
  return std::make_shared<FromDaemon>(std::move(options));
}

}  // namespace thermocline
