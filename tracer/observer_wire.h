// The bytes between a tensor observer in a job and its listener.
//
// A stream of messages, each a little-endian u16 length of what follows, a u8
// kind, and the fields of that kind: unsigned LEB128 numbers, and texts as a
// length with that many bytes. The first message is Hello, with the version;
// names are sent once and then spoken of by number, in order from 1 (0 is the
// empty name). The listener is part of a privileged daemon: decoding refuses
// whatever is not exactly a message, and never trusts a count.
//
// Thread safety: pure functions. Times in CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tracer/observer_server.h"

namespace thermocline {

inline constexpr std::uint32_t kWireVersion = 1;
inline constexpr std::size_t kWireMessageBytes = 32 * 1024;  // at most, whole
inline constexpr std::size_t kWireNameBytes = 255;  // longer ones are cut
inline constexpr std::size_t kWireTensors = 3000;   // of one list, at most

struct WireName {
  std::uint32_t number = 0;
  std::string text;
};

// An Operator whose name and layer are numbers.
struct WireOperator {
  std::uint32_t name = 0;
  std::uint32_t layer = 0;
  Nanos start = 0;
  Nanos end = 0;
  std::uint32_t thread = 0;
  Phase phase = Phase::kUnknown;
  std::span<const ObjectId> reads;
  std::span<const ObjectId> writes;
};

// The same as it arrives: owns its lists.
struct WireOperatorSeen {
  WireOperator op;
  std::vector<ObjectId> reads;
  std::vector<ObjectId> writes;
};

using WireMessage =
    std::variant<ObserverHello, WireName, Tensor, TensorDied, WireOperatorSeen,
                 Mark, Loss, ObserverFigure, ObserverGoodbye>;

// Each writes one whole message to the front of `out`. Returns: its bytes, or
// 0 when it does not fit (a message of kWireMessageBytes always does). Texts
// and lists beyond the limits above are cut.
std::size_t encode_hello(std::span<std::uint8_t> out,
                         std::string_view framework);
std::size_t encode_name(std::span<std::uint8_t> out, std::uint32_t number,
                        std::string_view text);
std::size_t encode_born(std::span<std::uint8_t> out, const Tensor& tensor);
std::size_t encode_died(std::span<std::uint8_t> out, const TensorDied& died);
std::size_t encode_operator(std::span<std::uint8_t> out,
                            const WireOperator& op);
std::size_t encode_mark(std::span<std::uint8_t> out, Nanos time,
                        std::string_view name);
std::size_t encode_loss(std::span<std::uint8_t> out, Nanos time,
                        std::string_view source, std::uint64_t count);
std::size_t encode_figure(std::span<std::uint8_t> out, std::string_view name,
                          std::uint64_t value);
std::size_t encode_goodbye(std::span<std::uint8_t> out);

/// Bytes of the whole message that `bytes` begins with; 0: more are needed to
/// tell; nothing: no message can begin so.
std::optional<std::size_t> wire_length(std::span<const std::uint8_t> bytes);

/// The one message that `whole` is. Requires: wire_length(whole) is
/// whole.size(). Returns: nothing when it is no valid message.
std::optional<WireMessage> decode_message(std::span<const std::uint8_t> whole);

}  // namespace thermocline
