#include "training/elastic/packed_checkpoint.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace thermocline {
namespace {

using nlohmann::json;
using Packed = std::vector<std::byte>;

Error corrupt_at(const std::string& what) {
  return corrupt("a checkpoint came damaged from rank 0: " + what +
                 "; start the job again");
}

// One of told["pieces"], whose bytes begin at `at`.
std::optional<Piece> read_piece(const json& one, const Packed& packed,
                                std::size_t at) {
  if (!one.is_array() || one.size() != 4 || !one[0].is_string() ||
      !one[1].is_string() || !one[2].is_array() ||
      !one[3].is_number_unsigned()) {
    return {};
  }
  Piece piece{one[0].get<std::string>(), one[1].get<std::string>(), {}, {}, 0};
  for (const auto& side : one[2]) {
    if (!side.is_number_integer()) return {};
    piece.shape.push_back(side.get<std::int64_t>());
  }
  const auto bytes = one[3].get<std::uint64_t>();
  if (bytes > packed.size() - at) return {};
  piece.bytes =
      ByteSpan(reinterpret_cast<const std::uint8_t*>(packed.data()) + at,
               static_cast<std::size_t>(bytes));
  return piece;
}

}  // namespace

Packed pack(const Restored& from) {
  json told{{"step", from.step},
            {"sequence", from.sequence},
            {"slot", from.slot},
            {"pieces", json::array()}};
  std::size_t bytes = 0;
  for (const Piece& piece : from.pieces) {
    told["pieces"].push_back(
        {piece.name, piece.type, piece.shape, piece.bytes.size()});
    bytes += piece.bytes.size();
  }
  const std::string head =
      told.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::uint64_t length = head.size();
  Packed out(sizeof length + head.size() + bytes);
  std::memcpy(out.data(), &length, sizeof length);
  std::memcpy(out.data() + sizeof length, head.data(), head.size());
  std::size_t at = sizeof length + head.size();
  for (const Piece& piece : from.pieces) {
    if (piece.bytes.empty()) continue;
    std::memcpy(out.data() + at, piece.bytes.data(), piece.bytes.size());
    at += piece.bytes.size();
  }
  return out;
}

Result<SharedCheckpoint> unpack(Packed packed) {
  SharedCheckpoint out;
  out.bytes = std::move(packed);
  std::uint64_t length = 0;
  if (out.bytes.size() < sizeof length) return corrupt_at("it is too short");
  std::memcpy(&length, out.bytes.data(), sizeof length);
  if (length > out.bytes.size() - sizeof length) {
    return corrupt_at("its head is longer than it");
  }
  const auto* head =
      reinterpret_cast<const char*>(out.bytes.data()) + sizeof length;
  const auto told =
      json::parse(head, head + length, nullptr, /*allow_exceptions=*/false);
  if (!told.is_object()) return corrupt_at("its head cannot be read");
  for (const char* key : {"step", "sequence", "slot"}) {
    if (const auto at = told.find(key);
        at == told.end() || !at->is_number_unsigned()) {
      return corrupt_at(std::string("its head lacks the ") + key);
    }
  }
  const auto pieces = told.find("pieces");
  if (pieces == told.end() || !pieces->is_array()) {
    return corrupt_at("its head lacks the pieces");
  }
  out.restored.step = told["step"].get<std::uint64_t>();
  out.restored.sequence = told["sequence"].get<std::uint64_t>();
  out.restored.slot = told["slot"].get<std::uint32_t>();
  std::size_t at = sizeof length + static_cast<std::size_t>(length);
  for (const auto& one : *pieces) {
    auto piece = read_piece(one, out.bytes, at);
    if (!piece) {
      return corrupt_at("piece " + std::to_string(out.restored.pieces.size()) +
                        " of it cannot be read");
    }
    at += piece->bytes.size();
    out.restored.pieces.push_back(*std::move(piece));
  }
  if (at != out.bytes.size()) return corrupt_at("its pieces are not all of it");
  return out;
}

}  // namespace thermocline
