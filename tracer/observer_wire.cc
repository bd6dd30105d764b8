#include "tracer/observer_wire.h"

#include <algorithm>
#include <cstring>

namespace thermocline {
namespace {

enum class Kind : std::uint8_t {
  kHello = 1,
  kName = 2,
  kBorn = 3,
  kDied = 4,
  kOperator = 5,
  kMark = 6,
  kLoss = 7,
  kGoodbye = 8,
  kFigure = 9,
};

constexpr std::string_view kMagic = "thermocline";
constexpr std::size_t kHeaderBytes = 3;  // length and kind

class Writer {
 public:
  Writer(std::span<std::uint8_t> out, Kind kind) : out_(out) {
    byte(0);
    byte(0);
    byte(static_cast<std::uint8_t>(kind));
  }
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }
  void time(Nanos value) {
    number(static_cast<std::uint64_t>(std::max<Nanos>(value, 0)));
  }
  void text(std::string_view value) {
    value = value.substr(0, kWireNameBytes);
    number(value.size());
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  void serials(std::span<const ObjectId> list) {
    list = list.first(std::min(list.size(), kWireTensors));
    number(list.size());
    for (const auto serial : list) number(serial);
  }
  std::size_t finish() {
    if (used_ > out_.size() || used_ > kWireMessageBytes) return 0;
    const auto length = used_ - 2;
    out_[0] = static_cast<std::uint8_t>(length);
    out_[1] = static_cast<std::uint8_t>(length >> 8);
    return used_;
  }

 private:
  void byte(std::uint8_t value) {
    if (used_ < out_.size()) out_[used_] = value;
    ++used_;
  }
  std::span<std::uint8_t> out_;
  std::size_t used_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail();
      const std::uint64_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      const auto bits = byte & 0x7f;
      if (shift == 63 && bits > 1) return fail();
      value |= bits << shift;
      if ((byte & 0x80) == 0) return value <= most ? value : fail();
    }
    return fail();
  }
  std::uint32_t number32() {
    return static_cast<std::uint32_t>(number(UINT32_MAX));
  }
  Nanos time() { return static_cast<Nanos>(number(INT64_MAX)); }
  std::string text() {
    const auto length = static_cast<std::size_t>(number(kWireNameBytes));
    if (length > bytes_.size()) fail();
    if (!good_) return {};
    std::string value(length, '\0');
    if (length != 0) std::memcpy(value.data(), bytes_.data(), length);
    bytes_ = bytes_.subspan(length);
    return value;
  }
  std::vector<ObjectId> serials() {
    const auto count = static_cast<std::size_t>(number(kWireTensors));
    // Every serial takes a byte at least: no allocation beyond the message.
    if (count > bytes_.size()) fail();
    std::vector<ObjectId> list;
    if (!good_) return list;
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i) list.push_back(number32());
    return list;
  }
  /// True when all was well and nothing is left over.
  bool done() const { return good_ && bytes_.empty(); }

 private:
  std::uint64_t fail() {
    good_ = false;
    bytes_ = {};
    return 0;
  }
  std::span<const std::uint8_t> bytes_;
  bool good_ = true;
};

std::optional<WireMessage> read_hello(Reader& in) {
  const auto magic = in.text();
  const auto version = in.number32();
  ObserverHello hello{in.text()};
  if (magic != kMagic || version != kWireVersion) return std::nullopt;
  return hello;
}

std::optional<WireMessage> read_born(Reader& in) {
  Tensor tensor;
  tensor.serial = in.number32();
  tensor.address = in.number(UINT64_MAX);
  tensor.bytes = in.number(UINT64_MAX);
  tensor.born = in.time();
  tensor.label = in.text();
  const bool wraps = tensor.bytes > UINT64_MAX - tensor.address;
  if (tensor.serial == 0 || tensor.bytes == 0 || wraps) return std::nullopt;
  return tensor;
}

std::optional<WireMessage> read_operator(Reader& in) {
  WireOperatorSeen seen;
  auto& op = seen.op;
  op.name = in.number32();
  op.layer = in.number32();
  op.start = in.time();
  const auto lasted = in.time();
  op.thread = in.number32();
  const auto phase = in.number(static_cast<std::uint64_t>(Phase::kOptimizer));
  op.phase = static_cast<Phase>(phase);
  seen.reads = in.serials();
  seen.writes = in.serials();
  if (lasted > INT64_MAX - op.start) return std::nullopt;
  op.end = op.start + lasted;
  return seen;
}

std::optional<WireMessage> read(Kind kind, Reader& in) {
  switch (kind) {
    case Kind::kHello: return read_hello(in);
    case Kind::kName: {
      const auto number = in.number32();
      return WireName{number, in.text()};
    }
    case Kind::kBorn: return read_born(in);
    case Kind::kDied: {
      const auto serial = in.number32();
      return TensorDied{serial, in.time()};
    }
    case Kind::kOperator: return read_operator(in);
    case Kind::kMark: {
      const auto time = in.time();
      return Mark{time, in.text()};
    }
    case Kind::kLoss: {
      const auto time = in.time();
      auto source = in.text();
      return Loss{time, std::move(source), in.number(UINT64_MAX)};
    }
    case Kind::kGoodbye: return ObserverGoodbye{};
    case Kind::kFigure: {
      auto name = in.text();
      return ObserverFigure{std::move(name), in.number(UINT64_MAX)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::size_t encode_hello(std::span<std::uint8_t> out,
                         std::string_view framework) {
  Writer to(out, Kind::kHello);
  to.text(kMagic);
  to.number(kWireVersion);
  to.text(framework);
  return to.finish();
}

std::size_t encode_name(std::span<std::uint8_t> out, std::uint32_t number,
                        std::string_view text) {
  Writer to(out, Kind::kName);
  to.number(number);
  to.text(text);
  return to.finish();
}

std::size_t encode_born(std::span<std::uint8_t> out, const Tensor& tensor) {
  Writer to(out, Kind::kBorn);
  to.number(tensor.serial);
  to.number(tensor.address);
  to.number(tensor.bytes);
  to.time(tensor.born);
  to.text(tensor.label);
  return to.finish();
}

std::size_t encode_died(std::span<std::uint8_t> out, const TensorDied& died) {
  Writer to(out, Kind::kDied);
  to.number(died.serial);
  to.time(died.time);
  return to.finish();
}

std::size_t encode_operator(std::span<std::uint8_t> out,
                            const WireOperator& op) {
  Writer to(out, Kind::kOperator);
  to.number(op.name);
  to.number(op.layer);
  to.time(op.start);
  to.time(op.end - op.start);
  to.number(op.thread);
  to.number(static_cast<std::uint64_t>(op.phase));
  to.serials(op.reads);
  to.serials(op.writes);
  return to.finish();
}

std::size_t encode_mark(std::span<std::uint8_t> out, Nanos time,
                        std::string_view name) {
  Writer to(out, Kind::kMark);
  to.time(time);
  to.text(name);
  return to.finish();
}

std::size_t encode_loss(std::span<std::uint8_t> out, Nanos time,
                        std::string_view source, std::uint64_t count) {
  Writer to(out, Kind::kLoss);
  to.time(time);
  to.text(source);
  to.number(count);
  return to.finish();
}

std::size_t encode_figure(std::span<std::uint8_t> out, std::string_view name,
                          std::uint64_t value) {
  Writer to(out, Kind::kFigure);
  to.text(name);
  to.number(value);
  return to.finish();
}

std::size_t encode_goodbye(std::span<std::uint8_t> out) {
  return Writer(out, Kind::kGoodbye).finish();
}

std::optional<std::size_t> wire_length(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2) return 0;
  const std::size_t whole = 2u + bytes[0] + (std::size_t{bytes[1]} << 8);
  if (whole < kHeaderBytes || whole > kWireMessageBytes) return std::nullopt;
  return bytes.size() < whole ? 0 : whole;
}

std::optional<WireMessage> decode_message(std::span<const std::uint8_t> whole) {
  if (whole.size() < kHeaderBytes) return std::nullopt;
  Reader in(whole.subspan(kHeaderBytes));
  auto message = read(static_cast<Kind>(whole[2]), in);
  if (!in.done()) return std::nullopt;
  return message;
}

}  // namespace thermocline
