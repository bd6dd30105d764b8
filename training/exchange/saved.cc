// A rank's samples on disk: "TCEXCHG1", epoch, count; of each sample its id,
// size and bytes; CRC-32C of all before it. Little-endian, 8 bytes a number.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "traces/crc32c.h"
#include "traces/replace_file.h"
#include "training/exchange/exchange.h"

namespace thermocline {
namespace {

constexpr char kMagic[] = "TCEXCHG1";
constexpr std::size_t kWord = sizeof(std::uint64_t);

void put(std::string& out, std::uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint32_t checksum(const char* bytes, std::size_t count) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(bytes), count});
}

// Takes numbers off the front; 0 once there are none.
struct Cursor {
  const std::string& text;
  std::size_t at = 0;
  std::size_t end = 0;

  bool has(std::uint64_t bytes) const { return bytes <= end - at; }
  std::uint64_t number() {
    std::uint64_t out = 0;
    if (!has(kWord)) return 0;
    std::memcpy(&out, text.data() + at, kWord);
    at += kWord;
    return out;
  }
};

}  // namespace

Status SampleExchange::save(const std::string& path) const {
  std::string out(kMagic, kWord);
  put(out, epoch_);
  put(out, samples_.size());
  for (const StoredSample& one : samples_) {
    put(out, one.id);
    put(out, one.bytes.size());
    out.append(reinterpret_cast<const char*>(one.bytes.data()),
               one.bytes.size());
  }
  put(out, checksum(out.data(), out.size()));
  return replace_file(path, out);
}

Result<SampleExchange::Saved> SampleExchange::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return file_failure("read", path, errno);
  std::ostringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  if (text.size() < 4 * kWord || std::memcmp(text.data(), kMagic, kWord) != 0) {
    return corrupt(path + " is not a saved exchange; check its name");
  }
  Cursor from{text, kWord, text.size() - kWord};
  std::uint64_t crc = 0;
  std::memcpy(&crc, text.data() + from.end, kWord);
  if (crc != checksum(text.data(), from.end)) {
    return corrupt(path + " is damaged; start from the shards again");
  }
  Saved out;
  out.epoch = from.number();
  const std::uint64_t count = from.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    StoredSample one;
    one.id = from.number();
    const std::uint64_t bytes = from.number();
    if (!from.has(bytes)) {
      return corrupt(path +
                     " ends within a sample; start from the shards again");
    }
    one.bytes.resize(bytes);
    if (bytes > 0) std::memcpy(one.bytes.data(), text.data() + from.at, bytes);
    from.at += bytes;
    out.samples.push_back(std::move(one));
  }
  return out;
}

}  // namespace thermocline
