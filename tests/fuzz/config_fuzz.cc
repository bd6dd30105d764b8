// Fuzzes thermoclined's configuration file: any text is refused with a reason
// that names the file, or is settings that, written out, say the same again.
#include <cstdint>
#include <string>

#include "daemon/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace thermocline;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = settings_from(text, "FILE");
  if (!read) {
    CHECK(read.error().message.rfind("FILE:", 0) == 0);
    return 0;
  }
  const auto again = settings_from(config_text(*read), "again");
  CHECK(again.has_value());
  CHECK(differing(*read, *again).empty());
  return 0;
}
