// What the kernel itself can tell of accesses, where no PMU does.
#include "tracer/doctor_parts.h"
#include "tracer/page_tracker.h"
#include "tracer/sampling_rights.h"

namespace thermocline {
namespace {

using State = Finding::State;

Finding idle_pages(const Patient& patient, bool root) {
  const std::string name = "idle page bitmap";
  const auto path = patient.root + "/sys/kernel/mm/page_idle/bitmap";
  if (!is_there(path)) {
    return lacking(State::kMissing, name, "not in this kernel",
                   "who has touched a page cannot be asked page by page",
                   "a kernel with CONFIG_IDLE_PAGE_TRACKING=y");
  }
  if (root) return good(name, "/sys/kernel/mm/page_idle/bitmap");
  return lacking(State::kPart, name, "there, for root only",
                 "we may not read it", "run as root (CAP_SYS_ADMIN)");
}

Finding damon(const Patient& patient, bool root) {
  const std::string folder = "/sys/kernel/mm/damon/admin/kdamonds";
  const char* const without =
      "the kernel does not sample which regions are touched";
  if (!is_there(patient.root + folder)) {
    return lacking(State::kMissing, "DAMON", "not in this kernel", without,
                   "a kernel with CONFIG_DAMON_SYSFS=y and "
                   "CONFIG_DAMON_VADDR=y");
  }
  if (!root) {
    return lacking(State::kPart, "DAMON", "there, for root only",
                   "we may not start it", "run as root");
  }
  const auto status =
      try_damon({patient.root + "/proc", patient.root + "/sys"});
  if (status) return good("DAMON", folder);
  return lacking(State::kPart, "DAMON", "there, but not for us", without,
                 status.error().message);
}

Finding soft_dirty(const Patient& patient) {
  if (patient.tracks_writes()) {
    return good("soft-dirty bits", "bit 55 of /proc/PID/pagemap");
  }
  return lacking(State::kMissing, "soft-dirty bits", "not in this kernel",
                 "which pages were written cannot be told",
                 "a kernel with CONFIG_MEM_SOFT_DIRTY=y");
}

}  // namespace

std::vector<Finding> examine_trackers(const Patient& patient) {
  const auto rights = sampling_rights(patient.root, 0);
  const bool root = rights.uid == 0 && rights.has(Capability::kSysAdmin);
  return {idle_pages(patient, root), damon(patient, root), soft_dirty(patient)};
}

}  // namespace thermocline
