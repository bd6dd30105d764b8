#include "tracer/page_tracker.h"

#include <array>

#include "tracer/pagemap.h"

namespace thermocline {
namespace {

struct Known {
  const char* name;
  Result<std::unique_ptr<PageTracker>> (*open)(int, const KernelFiles&);
};
// The best first: what sees loads before what does not, pages before regions.
constexpr std::array<Known, 3> kTrackers{{{"idle", open_idle_pages},
                                          {"damon", open_damon},
                                          {"soft-dirty", open_soft_dirty}}};

}  // namespace

void append_page(Address page, std::vector<PageTouch>& touched) {
  if (!touched.empty() && touched.back().start + touched.back().bytes == page) {
    touched.back().bytes += Pagemap::kPage;
  } else {
    touched.push_back({page, Pagemap::kPage});
  }
}

Status check_page_tracker(const std::string& name) {
  for (const Known& known : kTrackers) {
    if (name.empty() || name == known.name) return {};
  }
  return invalid("unknown page tracker \"" + name +
                 "\"; there are idle, damon and soft-dirty");
}

Result<std::unique_ptr<PageTracker>> open_page_tracker(
    const std::string& name, int pid, const KernelFiles& files) {
  if (auto status = check_page_tracker(name); !status) return status.error();
  std::string reasons;
  for (const Known& known : kTrackers) {
    if (!name.empty() && name != known.name) continue;
    auto tracker = known.open(pid, files);
    if (tracker || !name.empty()) return tracker;
    reasons += std::string(reasons.empty() ? "" : "; ") + known.name + ": " +
               tracker.error().message;
  }
  return not_found("this kernel tells of no page accesses (" + reasons + ")");
}

}  // namespace thermocline
