#include "training/placement/access_teller.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

namespace thermocline {
namespace {

using nlohmann::json;

constexpr std::size_t kRangesAtOnce = 512;  // as daemon/API.md has it
constexpr int kUnsent = 8;                  // messages; more are dropped

std::int64_t milliseconds() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

}  // namespace

struct AccessTeller::Line {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
};

AccessTeller::AccessTeller(const Options& options, std::unique_ptr<Line> line)
    : options_(options), line_(std::move(line)) {}
AccessTeller::~AccessTeller() = default;

Result<std::unique_ptr<AccessTeller>> AccessTeller::open(const Options& given) {
  Options options = given;
  const char* named = std::getenv("THERMOCLINE_SOCKET");
  if (options.socket.empty() && named != nullptr) options.socket = named;
  if (options.socket.empty()) {
    return invalid(
        "accesses are told to no one; name thermoclined's socket, or start the "
        "job with thermocline run");
  }
  try {
    auto line = std::make_unique<Line>();
    line->socket.set(zmq::sockopt::linger, 0);
    line->socket.set(zmq::sockopt::sndhwm, kUnsent);
    // A daemon that comes later is not told what was.
    line->socket.set(zmq::sockopt::immediate, true);
    line->socket.connect("ipc://" + options.socket);
    return std::unique_ptr<AccessTeller>(
        new AccessTeller(options, std::move(line)));
  } catch (const zmq::error_t& error) {
    return io("accesses cannot be told on " + options.socket + ": " +
              error.what());
  }
}

void AccessTeller::touch(const void* memory, std::size_t bytes, double loads,
                         double stores) {
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  const auto end = start + bytes;
  for (auto at = start; at < end;) {
    const auto granule = at - at % kGranule;
    const auto stop = std::min(end, granule + kGranule);
    const double part =
        static_cast<double>(stop - at) / static_cast<double>(bytes);
    auto [found, fresh] = touched_.try_emplace(granule, Touched{at, stop});
    Touched& one = found->second;
    one.low = std::min(one.low, at);
    one.high = std::max(one.high, stop);
    one.loads += part * loads;
    one.stores += part * stores;
    at = stop;
  }
}

bool AccessTeller::due() const {
  return milliseconds() - told_at_ >= options_.every_ms;
}

void AccessTeller::tell() {
  if (touched_.empty() || !due()) return;
  told_at_ = milliseconds();
  hear();
  try {
    while (!touched_.empty()) {
      json ranges = json::array();
      auto next = touched_.begin();
      for (; next != touched_.end() && ranges.size() < kRangesAtOnce; ++next) {
        const Touched& one = next->second;
        ranges.push_back({one.low, one.high - one.low, one.loads, one.stores});
      }
      touched_.erase(touched_.begin(), next);
      const json request{
          {"v", 1}, {"op", "expect"}, {"ranges", std::move(ranges)}};
      if (line_->socket.send(zmq::buffer(request.dump()),
                             zmq::send_flags::dontwait)) {
        ++stats_.messages;
      }
    }
  } catch (const zmq::error_t&) {
    touched_.clear();  // nobody is told, and the job goes on
  }
}

void AccessTeller::hear() {
  try {
    zmq::message_t message;
    while (line_->socket.recv(message, zmq::recv_flags::dontwait)) {
      const auto answer = json::parse(message.to_string_view(), nullptr, false);
      if (!answer.is_object()) continue;
      if (answer.value("ok", false)) {
        stats_.unknown_bytes += answer.value("unknown_bytes", std::uint64_t{0});
        continue;
      }
      ++stats_.refused;
      const auto error = answer.value("error", json::object());
      stats_.why = error.value("message", "refused");
    }
  } catch (const zmq::error_t&) {
  }
}

const AccessTeller::Stats& AccessTeller::stats() {
  hear();
  return stats_;
}

}  // namespace thermocline
