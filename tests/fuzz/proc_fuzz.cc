// Any text as /proc's: a job chooses the names in maps and stat.
#include <cstdint>
#include <string>

#include "daemon/process.h"
#include "daemon/zone_info.h"
#include "tracer/maps.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace thermocline;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto maps = parse_maps(text);
  Address end = 0;
  for (const auto& area : maps.areas) {
    CHECK(end <= area.start && area.start < area.end);
    CHECK(area.permissions.size() == 4);
    end = area.end;
  }
  (void)parse_numa_maps(text);
  (void)usable_free_bytes(text, 1);
  const auto process = parse_process(text);
  CHECK(process || !process.error().message.empty());
  return 0;
}
