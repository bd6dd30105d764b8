#include "tracer/perf_features.h"

#include <algorithm>
#include <cstring>

namespace thermocline {
namespace {

constexpr std::size_t kMaxWords = 4096;

// A length, and that many bytes of text padded with zeros.
std::string take_text(std::span<const std::uint8_t>& bytes) {
  std::uint32_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes = bytes.subspan(sizeof length);
  const auto text = bytes.first(std::min<std::size_t>(length, bytes.size()));
  bytes = bytes.subspan(text.size());
  return {text.begin(), std::find(text.begin(), text.end(), 0)};
}

}  // namespace

void PerfFeatures::take(std::uint64_t feature,
                        std::span<const std::uint8_t> bytes) {
  switch (feature) {
    case kRelease: release = take_text(bytes); return;
    case kProcessor: processor = take_text(bytes); return;
    case kCommand: {
      std::uint32_t count = 0;
      if (bytes.size() < sizeof count) return;
      std::memcpy(&count, bytes.data(), sizeof count);
      bytes = bytes.subspan(sizeof count);
      command.clear();
      while (count-- > 0 && !bytes.empty() && command.size() < kMaxWords) {
        command.push_back(take_text(bytes));
      }
      return;
    }
    default: return;
  }
}

std::string PerfFeatures::host() const {
  std::string line = release.empty() ? "" : "Linux " + release;
  if (!line.empty() && !processor.empty()) line += ", ";
  return line + processor;
}

std::vector<std::string> PerfFeatures::job() const {
  const auto dashes = std::find(command.begin(), command.end(), "--");
  if (dashes == command.end() || dashes + 1 == command.end()) return command;
  return {dashes + 1, command.end()};
}

}  // namespace thermocline
