#include "daemon/huge_pages.h"

#include <bit>
#include <charconv>

namespace thermocline {
namespace {

// Documentation/admin-guide/mm/pagemap.rst
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kFrameMask = (std::uint64_t{1} << 55) - 1;
constexpr std::uint64_t kTransparentHuge = std::uint64_t{1} << 22;

}  // namespace

Bytes huge_page_bytes(Kernel& kernel) {
  const auto text =
      kernel.read_file("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  Bytes bytes = 0;
  if (!text) return 0;
  std::from_chars(text->data(), text->data() + text->size(), bytes);
  return std::has_single_bit(bytes) ? bytes : 0;
}

HugePages::HugePages(Kernel& kernel, int pid)
    : kernel_(kernel),
      pagemap_("proc/" + std::to_string(pid) + "/pagemap"),
      huge_bytes_(huge_page_bytes(kernel)) {}

Address HugePages::block_of(Address page) {
  if (huge_bytes_ == 0) return 0;
  const Address block = page & ~(huge_bytes_ - 1);
  if (block != block_) {
    block_ = block;
    huge_ = ask(page);
  }
  return huge_ ? block : 0;
}

bool HugePages::ask(Address page) {
  const auto entry =
      kernel_.read_word(pagemap_, page / kernel_.page_bytes() * 8);
  if (!entry || (*entry & kPresent) == 0) return false;
  const std::uint64_t frame = *entry & kFrameMask;
  if (frame == 0) {  // hidden from us: needs CAP_SYS_ADMIN
    huge_bytes_ = 0;
    return false;
  }
  const auto flags = kernel_.read_word("proc/kpageflags", frame * 8);
  return flags && (*flags & kTransparentHuge) != 0;
}

}  // namespace thermocline
