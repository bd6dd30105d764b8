#include "daemon/byte_size.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace thermocline {

Result<Bytes> byte_size(const std::string& text) {
  static const CLI::AsSizeValue kSize(false);
  std::string bytes = text;
  Bytes out = 0;
  bool good = false;
  try {
    good = kSize(bytes).empty();
  } catch (const CLI::ValidationError&) {
    // How it says that it does not know the unit.
  }
  const auto* const end = bytes.data() + bytes.size();
  good = good && std::from_chars(bytes.data(), end, out).ptr == end;
  if (good) return out;
  return invalid("\"" + text +
                 "\" is not a number of bytes; write it like 67108864, 64M or "
                 "1G (K, M, G and T are powers of 1024)");
}

void takes_bytes(CLI::Option& option) {
  option.transform(CLI::Validator(
      [](std::string& text) {
        const auto bytes = byte_size(text);
        if (!bytes) return bytes.error().message;
        text = std::to_string(*bytes);
        return std::string();
      },
      "SIZE"));
}

}  // namespace thermocline
