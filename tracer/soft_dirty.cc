// Soft-dirty bits: writing 4 to /proc/PID/clear_refs write-protects the pages
// of a process; the first store to one makes a minor fault and sets its bit.
// The job pays about a microsecond for each page that it writes after a look.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tracer/page_tracker.h"
#include "tracer/pagemap.h"

namespace thermocline {
namespace {

class SoftDirty final : public PageTracker {
 public:
  SoftDirty(int pid, const KernelFiles& files)
      : pid_(pid),
        proc_(files.proc),
        clear_(files.proc + "/" + std::to_string(pid) + "/clear_refs") {}

  std::string name() const override { return "soft-dirty"; }
  Access access() const override { return Access::kStore; }

  Status scan(std::span<const Area> areas,
              std::vector<PageTouch>& touched) override {
    if (begun_) {
      const auto pagemap = Pagemap::open(proc_, pid_);
      if (!pagemap) return pagemap.error();
      for (const Area& area : areas) {
        if (!area.writable()) continue;
        pagemap->each(
            area.start, area.end, [&](Address page, std::uint64_t entry) {
              constexpr auto kBoth = Pagemap::kPresent | Pagemap::kSoftDirty;
              if ((entry & kBoth) == kBoth) append_page(page, touched);
            });
      }
    }
    begun_ = true;
    return clear();
  }

  Status clear() const {
    const int file = ::open(clear_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "4", 1) != 1) {
      const int error = errno;
      if (file >= 0) close(file);
      const std::string what = clear_ + ": " + std::strerror(error);
      if (error == EACCES || error == EPERM) {
        return permission(what + "; run as root");
      }
      return not_found(what + "; has the process ended?");
    }
    close(file);
    return {};
  }

 private:
  const int pid_;
  const std::string proc_;
  const std::string clear_;
  bool begun_ = false;
};

}  // namespace

// A kernel without soft-dirty bits takes the 4 and sets none: so ask it about
// a page of our own.
bool has_soft_dirty(const KernelFiles& files) {
  auto pagemap = Pagemap::open(files.proc, getpid());
  if (!pagemap) return false;
  void* const page = mmap(nullptr, Pagemap::kPage, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  *static_cast<volatile char*>(page) = 1;
  bool set = false;
  const auto at = reinterpret_cast<Address>(page);
  pagemap->each(at, at + Pagemap::kPage, [&](Address, std::uint64_t entry) {
    set = (entry & Pagemap::kSoftDirty) != 0;
  });
  munmap(page, Pagemap::kPage);
  return set;
}

Result<std::unique_ptr<PageTracker>> open_soft_dirty(int pid,
                                                     const KernelFiles& files) {
  if (!has_soft_dirty(files)) {
    return not_found(
        "this kernel has no soft-dirty bits; it needs CONFIG_MEM_SOFT_DIRTY "
        "(Debian's has it)");
  }
  if (auto pagemap = Pagemap::open(files.proc, pid); !pagemap) {
    return pagemap.error();
  }
  auto tracker = std::make_unique<SoftDirty>(pid, files);
  if (auto status = tracker->clear(); !status) return status.error();
  return std::unique_ptr<PageTracker>(std::move(tracker));
}

}  // namespace thermocline
