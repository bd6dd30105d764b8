// DAMON by its sysfs files: the kernel forms regions of like access frequency,
// looks at one page of each every 5 ms, and says how often in the last 100 ms
// that page had been touched.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tracer/page_tracker.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

// One 'file' below `folder` set to `value`.
Status put(const std::string& folder, const std::string& file,
           const std::string& value) {
  const std::string path = folder + "/" + file;
  const int out = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = out >= 0 && write(out, value.data(), value.size()) ==
                                       static_cast<ssize_t>(value.size());
  const int error = errno;
  if (out >= 0) close(out);
  if (written) return {};
  const std::string what = path + ": " + std::strerror(error);
  if (error == EACCES || error == EPERM) {
    return permission(what + "; run as root");
  }
  return io("DAMON refuses \"" + value + "\": " + what);
}

std::uint64_t number_in(const std::string& path) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  in >> value;
  return value;
}

// Whether it can watch processes, as far as it says: it does where there is a
// context, since Linux 5.19. Errors: kNotFound.
Status watches_processes(const std::string& all) {
  std::ifstream in(all + "/0/contexts/0/avail_operations");
  if (!in) return {};
  for (std::string word; in >> word;) {
    if (word == "vaddr") return {};
  }
  return not_found(
      "this kernel's DAMON cannot watch processes; it needs "
      "CONFIG_DAMON_VADDR");
}

class Damon final : public PageTracker {
 public:
  explicit Damon(std::string all) : all_(std::move(all)) {}
  ~Damon() override {
    if (!mine_) return;
    (void)put(all_ + "/0", "state", "off");
    (void)put(all_, "nr_kdamonds", "0");
  }

  // One that does not run yet.
  Status make() {
    if (auto status = put(all_, "nr_kdamonds", "1"); !status) return status;
    mine_ = true;
    if (auto status = put(all_, "0/contexts/nr_contexts", "1"); !status) {
      return status;
    }
    return watches_processes(all_);
  }

  Status start(int pid) {
    const std::string daemon = all_ + "/0";
    const std::string context = daemon + "/contexts/0";
    const std::string scheme = context + "/schemes/0";
    const std::pair<std::string, std::pair<const char*, std::string>> steps[] =
        {{context, {"operations", "vaddr"}},
         {context, {"targets/nr_targets", "1"}},
         {context, {"targets/0/pid_target", std::to_string(pid)}},
         {context, {"schemes/nr_schemes", "1"}},
         {scheme, {"action", "stat"}},
         {scheme, {"access_pattern/sz/max", kAll}},
         {scheme, {"access_pattern/nr_accesses/min", "1"}},
         {scheme, {"access_pattern/nr_accesses/max", kAll}},
         {scheme, {"access_pattern/age/max", kAll}},
         {daemon, {"state", "on"}}};
    for (const auto& [folder, step] : steps) {
      if (auto status = put(folder, step.first, step.second); !status) {
        return status;
      }
    }
    return {};
  }

  std::string name() const override { return "damon"; }
  Access access() const override { return Access::kLoad; }

  Status scan(std::span<const Area>, std::vector<PageTouch>& touched) override {
    if (!std::exchange(begun_, true)) return {};
    if (auto status = put(all_ + "/0", "state", "update_schemes_tried_regions");
        !status) {
      return not_found("DAMON has stopped; has the process ended? (" +
                       status.error().message + ")");
    }
    std::error_code error;
    const std::string tried = all_ + "/0/contexts/0/schemes/0/tried_regions";
    for (const auto& entry : fs::directory_iterator(tried, error)) {
      const std::string region = entry.path().string();
      if (!entry.is_directory()) continue;
      const Address start = number_in(region + "/start");
      const Address end = number_in(region + "/end");
      const auto times =
          static_cast<std::uint32_t>(number_in(region + "/nr_accesses"));
      if (start < end && times > 0) {
        touched.push_back({start, end - start, times});
      }
    }
    if (error) return io(tried + ": " + error.message());
    return {};
  }

 private:
  static constexpr const char* kAll = "18446744073709551615";
  std::string all_;  // the folder kdamonds/
  bool mine_ = false;
  bool begun_ = false;
};

Result<std::unique_ptr<Damon>> make_damon(const KernelFiles& files) {
  const std::string all = files.sys + "/kernel/mm/damon/admin/kdamonds";
  if (!fs::exists(all + "/nr_kdamonds")) {
    return not_found("this kernel has no " + all +
                     "; it needs CONFIG_DAMON_SYSFS and CONFIG_DAMON_VADDR");
  }
  if (number_in(all + "/nr_kdamonds") != 0) {
    if (auto status = watches_processes(all); !status) return status.error();
    return unsupported(
        "DAMON is in use by another program; stop that, or use "
        "pages:soft-dirty");
  }
  auto damon = std::make_unique<Damon>(all);
  if (auto status = damon->make(); !status) return status.error();
  return damon;
}

}  // namespace

Result<std::unique_ptr<PageTracker>> open_damon(int pid,
                                                const KernelFiles& files) {
  auto damon = make_damon(files);
  if (!damon) return damon.error();
  if (auto status = (*damon)->start(pid); !status) return status.error();
  return std::unique_ptr<PageTracker>(*std::move(damon));
}

Status try_damon(const KernelFiles& files) {
  const auto damon = make_damon(files);
  return damon ? Status() : damon.error();
}

}  // namespace thermocline
