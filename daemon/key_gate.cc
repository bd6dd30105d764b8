#include "daemon/key_gate.h"

#include <array>
#include <vector>

#include "daemon/deaf_thread.h"

namespace thermocline {
namespace {

// Frames of a ZAP request with CURVE: version, request id, domain, address,
// routing id, mechanism, public key.
constexpr std::size_t kFrames = 7;
constexpr std::size_t kKeyBytes = 32;

std::string key_of(const zmq::message_t& credentials) {
  std::array<char, 41> text{};
  if (credentials.size() != kKeyBytes) return {};
  ::zmq_z85_encode(text.data(), credentials.data<const std::uint8_t>(),
                   kKeyBytes);
  return text.data();
}

void reply(zmq::socket_t& to, const zmq::message_t& id, const std::string& key,
           bool granted) {
  const std::string parts[] = {"1.0",
                               id.to_string(),
                               granted ? "200" : "400",
                               granted ? "OK" : "not on the list of clients",
                               granted ? key : "",
                               ""};
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    to.send(zmq::buffer(parts[i]), i + 1 < std::size(parts)
                                       ? zmq::send_flags::sndmore
                                       : zmq::send_flags::none);
  }
}

}  // namespace

KeyGate::KeyGate(zmq::context_t& context, const Clients& clients)
    : context_(context),
      clients_(clients),
      socket_(context, zmq::socket_type::rep) {
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
  thread_ = deaf_thread([this] { serve(); });
}

KeyGate::~KeyGate() {
  context_.shutdown();
  thread_.join();
}

void KeyGate::serve() {
  try {
    for (;;) {
      std::vector<zmq::message_t> frames;
      do {
        frames.emplace_back();
        if (!socket_.recv(frames.back())) return;
      } while (frames.back().more());
      const bool curve =
          frames.size() == kFrames && frames[5].to_string_view() == "CURVE";
      const auto key = curve ? key_of(frames[6]) : std::string();
      const bool granted =
          !key.empty() && (frames[2].to_string_view() == kRequestsDomain ||
                           clients_.knows(key));
      static const zmq::message_t kNoId;
      reply(socket_, frames.size() > 1 ? frames[1] : kNoId, key, granted);
    }
  } catch (const zmq::error_t&) {
    socket_.close();  // the context is shutting down
  }
}

}  // namespace thermocline
