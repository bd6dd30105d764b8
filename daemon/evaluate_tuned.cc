#include "daemon/evaluate_tuned.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "traces/crc32c.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "thermocline tuned options";
constexpr std::size_t kLooked = std::size_t{16} << 20;

template <typename T>
bool read(const Json& from, const char* key, T& out) {
  const auto at = from.find(key);
  if (at == from.end()) return false;
  const bool fits = std::is_same_v<T, std::string> ? at->is_string()
                    : std::is_same_v<T, bool>      ? at->is_boolean()
                                                   : at->is_number();
  if (fits) out = at->template get<T>();
  return fits;
}

bool read_all(const Json& all, Tuned& out) {
  std::string kind;
  if (!all.is_object() || !read(all, "kind", kind) || kind != kKind) {
    return false;
  }
  const Json training = all.value("training", Json());
  const Json policies = all.value("policies", Json());
  if (!read(all, "complete", out.complete) || !training.is_array() ||
      !policies.is_object()) {
    return false;
  }
  for (const Json& one : training) {
    Tuned::File file;
    if (!one.is_object() || !read(one, "file", file.path) ||
        !read(one, "bytes", file.bytes) ||
        !read(one, "crc32c", file.checksum)) {
      return false;
    }
    out.training.push_back(std::move(file));
  }
  for (const auto& [name, one] : policies.items()) {
    if (!one.is_object()) return false;
    const auto options = one.find("options");
    if (options == one.end() || !options->is_object()) return false;
    Tuned::Options& tuned = out.policies[name];
    tuned.options = options->dump();
    read(one, "time_ratio", tuned.time);
    read(one, "default_time_ratio", tuned.default_time);
    read(one, "tried", tuned.tried);
    read(one, "failed", tuned.failed);
  }
  return true;
}

}  // namespace

Result<Tuned::File> identify(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return file_failure("read", path, errno);
  Tuned::File out;
  out.path = path;
  out.bytes = static_cast<Bytes>(in.tellg());
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::min<Bytes>(out.bytes, kLooked)));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()),
          static_cast<std::streamsize>(bytes.size()));
  if (!in) return io(path + ": cannot be read");
  out.checksum = crc32c(bytes);
  return out;
}

std::string Tuned::names() const {
  std::string out;
  for (const auto& [name, unused] : policies) {
    out += (out.empty() ? "" : ", ") + name;
  }
  return out.empty() ? "none" : out;
}

Result<Tuned> Tuned::load(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    auto why = file_failure("read", path, errno);
    why.message += "; thermocline tune makes such a file";
    return why;
  }
  std::ostringstream text;
  text << in.rdbuf();
  Tuned out;
  if (!read_all(Json::parse(text.str(), nullptr, false), out)) {
    return corrupt(path +
                   ": is not a file of thermocline tune; make one with its -o");
  }
  return out;
}

std::string Tuned::text() const {
  Json files = Json::array();
  for (const File& one : training) {
    files.push_back(
        {{"file", one.path}, {"bytes", one.bytes}, {"crc32c", one.checksum}});
  }
  Json found = Json::object();
  for (const auto& [name, one] : policies) {
    found[name] = {{"options", Json::parse(one.options, nullptr, false)},
                   {"time_ratio", one.time},
                   {"default_time_ratio", one.default_time},
                   {"tried", one.tried},
                   {"failed", one.failed}};
  }
  const Json all = {{"kind", kKind},
                    {"complete", complete},
                    {"ratios_are", "geometric means over first_touch's"},
                    {"fast_shares", shares},
                    {"training", std::move(files)},
                    {"policies", std::move(found)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status Tuned::save(const std::string& path) const {
  return replace_file(path, text());
}

Status Tuned::check_unseen(const std::vector<std::string>& traces) const {
  for (const std::string& path : traces) {
    const auto now = identify(path);
    if (!now) return now.error();
    for (const File& seen : training) {
      if (seen.bytes != now->bytes || seen.checksum != now->checksum) continue;
      return invalid("it was tuned on " + path +
                     (seen.path == path ? "" : " (there " + seen.path + ")") +
                     "; evaluate traces that it has not seen");
    }
  }
  return {};
}

}  // namespace thermocline
