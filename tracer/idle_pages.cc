// The idle page bitmap: a set bit marks a page frame as idle; the kernel clears
// it when the page is touched. Needs root, for frame numbers are secret.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tracer/page_tracker.h"
#include "tracer/pagemap.h"

namespace thermocline {
namespace {

class IdlePages final : public PageTracker {
 public:
  IdlePages(int pid, const KernelFiles& files, int bitmap)
      : pid_(pid), proc_(files.proc), bitmap_(bitmap) {}
  ~IdlePages() override { close(bitmap_); }

  std::string name() const override { return "idle"; }
  Access access() const override { return Access::kLoad; }

  // The bitmap is read and written in words of 64 frames: frames are sorted,
  // and each word is visited once.
  Status scan(std::span<const Area> areas,
              std::vector<PageTouch>& touched) override {
    std::vector<Frame> marked;
    marked.swap(marked_);
    std::vector<Address> pages;
    each_word(marked, [&](std::uint64_t word, std::span<const Frame> frames) {
      std::uint64_t idle = 0;
      const auto at = static_cast<off_t>(word * sizeof idle);
      if (pread(bitmap_, &idle, sizeof idle, at) != sizeof idle) return true;
      for (const Frame& frame : frames) {
        if ((idle >> frame.number % 64 & 1) == 0) pages.push_back(frame.page);
      }
      return true;
    });
    std::sort(pages.begin(), pages.end());
    for (const Address page : pages) append_page(page, touched);
    return mark(areas);
  }

 private:
  struct Frame {
    std::uint64_t number;
    Address page;
  };

  template <typename Use>
  static bool each_word(const std::vector<Frame>& frames, Use use) {
    for (std::size_t begin = 0; begin < frames.size();) {
      const auto word = frames[begin].number / 64;
      auto end = begin;
      while (end < frames.size() && frames[end].number / 64 == word) ++end;
      if (!use(word, std::span(frames).subspan(begin, end - begin))) {
        return false;
      }
      begin = end;
    }
    return true;
  }

  Status mark(std::span<const Area> areas) {
    const auto pagemap = Pagemap::open(proc_, pid_);
    if (!pagemap) return pagemap.error();
    for (const Area& area : areas) {
      pagemap->each(area.start, area.end,
                    [&](Address page, std::uint64_t entry) {
                      const auto frame = Pagemap::frame(entry);
                      if ((entry & Pagemap::kPresent) != 0 && frame != 0) {
                        marked_.push_back({frame, page});
                      }
                    });
    }
    std::sort(
        marked_.begin(), marked_.end(),
        [](const Frame& a, const Frame& b) { return a.number < b.number; });
    // Frames that the kernel does not track (not on its lists) stay unmarked.
    std::vector<Frame> taken;
    const bool whole = each_word(
        marked_, [&](std::uint64_t word, std::span<const Frame> frames) {
          std::uint64_t idle = 0;
          for (const Frame& frame : frames) {
            idle |= std::uint64_t{1} << frame.number % 64;
          }
          const auto at = static_cast<off_t>(word * sizeof idle);
          if (pwrite(bitmap_, &idle, sizeof idle, at) != sizeof idle ||
              pread(bitmap_, &idle, sizeof idle, at) != sizeof idle) {
            return false;
          }
          for (const Frame& frame : frames) {
            if ((idle >> frame.number % 64 & 1) != 0) taken.push_back(frame);
          }
          return true;
        });
    marked_.swap(taken);
    if (whole) return {};
    return io(std::string("page_idle/bitmap: ") + std::strerror(errno));
  }

  const int pid_;
  const std::string proc_;
  const int bitmap_;
  std::vector<Frame> marked_;  // idle at the last look, by frame
};

}  // namespace

Result<std::unique_ptr<PageTracker>> open_idle_pages(int pid,
                                                     const KernelFiles& files) {
  const std::string path = files.sys + "/kernel/mm/page_idle/bitmap";
  const int bitmap = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (bitmap < 0 && (errno == EACCES || errno == EPERM)) {
    return permission(path + ": not allowed; run as root");
  }
  if (bitmap < 0) {
    return not_found("this kernel has no " + path +
                     "; it needs CONFIG_IDLE_PAGE_TRACKING");
  }
  auto tracker = std::make_unique<IdlePages>(pid, files, bitmap);
  if (auto pagemap = Pagemap::open(files.proc, pid); !pagemap) {
    return pagemap.error();
  }
  return std::unique_ptr<PageTracker>(std::move(tracker));
}

}  // namespace thermocline
