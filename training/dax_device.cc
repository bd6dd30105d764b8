#include "training/dax_device.h"

#include <bit>
#include <filesystem>
#include <fstream>
#include <optional>

namespace thermocline {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kPage = 4096;
// Where the kernel does not tell: what it has by itself.
constexpr Bytes kUsualAlign = Bytes{2} << 20;

std::optional<Bytes> number_in(const fs::path& file) {
  std::ifstream in(file);
  Bytes out = 0;
  if (!(in >> out)) return std::nullopt;
  return out;
}

}  // namespace

Result<DaxDevice> dax_device(const std::string& root, unsigned major,
                             unsigned minor, const std::string& path) {
  std::error_code gone;
  const fs::path entry = fs::path(root) / "sys/dev/char" /
                         (std::to_string(major) + ":" + std::to_string(minor));
  const fs::path folder = fs::canonical(entry, gone);
  const auto kind = fs::read_symlink(entry / "subsystem", gone);
  if (gone || kind.filename() != "dax") {
    return invalid(path +
                   " is a character device, and no DAX device such as "
                   "/dev/dax0.0; daxctl list shows those");
  }
  DaxDevice out;
  out.name = folder.filename();
  out.persistent = folder.string().find("/ndbus") != std::string::npos;
  const auto size = number_in(folder / "size");
  if (!size) return io("cannot read " + (folder / "size").string());
  out.size = *size;
  out.align = number_in(folder / "align").value_or(kUsualAlign);
  if (out.size == 0) {
    return unsupported(path +
                       " has no memory; give it some with daxctl "
                       "create-device or ndctl create-namespace");
  }
  if (out.align < kPage || !std::has_single_bit(out.align) ||
      out.size % out.align != 0) {
    return unsupported(
        path + " cannot be mapped whole: its " + std::to_string(out.size) +
        " bytes are not aligned to " + std::to_string(out.align) +
        "; make it anew with another size (ndctl create-namespace --mode "
        "devdax --size, or daxctl)");
  }
  return out;
}

}  // namespace thermocline
