#include "agent/archive.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "traces/crc32c.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kEndRecord = 22;  // zip's, without a comment
constexpr const char* kRemedy = "; train again with thermocline train";

std::uint32_t checksum(const std::string& bytes) {
  const auto* raw = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return crc32c({raw, bytes.size()});
}

std::string comment_of(const std::string& kind, std::uint32_t sum) {
  char text[80];
  std::snprintf(text, sizeof text, "thermocline %s %d %08x", kind.c_str(),
                kVersion, sum);
  return text;
}

// A zip names the length of its comment in its last two bytes before it.
void append_comment(std::string& zip, const std::string& kind) {
  zip.resize(zip.size() - 2);
  const std::string comment = comment_of(kind, checksum(zip));
  zip += static_cast<char>(comment.size());
  zip += '\0';
  zip += comment;
}

// What the comment says of the file, or why it is refused.
Status check(const std::string& path, const std::string& kind,
             const std::string& bytes) {
  const auto at = bytes.rfind("thermocline ");
  char word[32] = {};
  int version = 0;
  unsigned sum = 0;
  if (at == std::string::npos || at < kEndRecord ||
      std::sscanf(bytes.c_str() + at, "thermocline %31s %d %8x", word, &version,
                  &sum) != 3 ||
      kind != word) {
    return corrupt(path + " is not a thermocline " + kind + ", or was cut off" +
                   kRemedy);
  }
  if (version != kVersion) {
    return corrupt(path + " is a thermocline " + kind + " of version " +
                   std::to_string(version) + ", this program reads " +
                   std::to_string(kVersion) + kRemedy);
  }
  if (checksum(bytes.substr(0, at - 2)) != sum ||
      bytes.substr(at) != comment_of(kind, sum) ||
      static_cast<unsigned char>(bytes[at - 2]) != bytes.size() - at ||
      bytes[at - 1] != 0) {
    return corrupt(path + " is damaged (checksum)" + kRemedy);
  }
  return {};
}

}  // namespace

Status write_archive(const std::string& path, const std::string& kind,
                     torch::serialize::OutputArchive& archive) {
  std::string bytes;
  try {
    std::ostringstream out;
    archive.save_to(out);
    bytes = out.str();
  } catch (const std::exception& e) {
    const std::string why = e.what();
    return io("cannot write " + path + ": LibTorch says \"" +
              why.substr(0, why.find('\n')) + "\"; is there enough memory?");
  }
  CHECK(bytes.size() > kEndRecord &&
        bytes.compare(bytes.size() - kEndRecord, 4, "PK\5\6") == 0);
  append_comment(bytes, kind);
  return replace_file(path, bytes);
}

Status read_archive(
    const std::string& path, const std::string& kind,
    const std::function<void(torch::serialize::InputArchive&)>& take) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  if (!file || !(out << file.rdbuf())) {
    if (errno == 0) return corrupt(path + " is empty" + kRemedy);
    return file_failure("read", path, errno);
  }
  const std::string bytes = out.str();
  if (auto ok = check(path, kind, bytes); !ok) return ok.error();
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(bytes.data(), bytes.size());
    take(archive);
  } catch (const std::exception&) {
    return corrupt(path + " does not hold what a thermocline " + kind +
                   " needs" + kRemedy);
  }
  return {};
}

}  // namespace thermocline
