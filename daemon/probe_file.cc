#include "daemon/probe_file.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "daemon/units.h"
#include "traces/replace_file.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kLargestFile = Bytes{256} << 20;
constexpr Bytes kPersistUnits[] = {4096, 65536, Bytes{1} << 20,
                                   Bytes{16} << 20};
// Making the file takes as long as some figures.
constexpr int kMakingWeight = 4;

// Written and synced, piece by piece.
Status persist(MappedFile& file, Bytes size, Bytes unit,
               const ProbeOptions& options, ProbePace& pace, PlaceFigures& to) {
  const std::string title = "persist by " + std::to_string(unit) + " B";
  pace.begin(title);
  if (pace.late()) {
    ++to.left_out;
    return {};
  }
  ByteVector from(unit, 1);
  std::vector<double> found;
  const double wanted_s =
      pace.repeat_s(wanted_seconds(options), options.repeats, 1);
  Bytes at = 0;
  double last_s = 0;
  for (int done = -1; done < 0 || pace.again(done, options.repeats, last_s);
       ++done) {
    Bytes bytes = 0;
    const auto begin = std::chrono::steady_clock::now();
    do {
      if (auto ok = pace.go_on(); !ok) return ok.error();
      if (at + unit > size) at = 0;
      ++from[0];
      file.write(at, from);
      file.fence();
      if (auto ok = file.sync(at, unit); !ok) return ok.error();
      at += unit;
      bytes += unit;
      last_s = seconds_since(begin);
    } while (last_s < wanted_s);
    if (done >= 0) found.push_back(static_cast<double>(bytes) / last_s);
  }
  to.figures.push_back(
      {title, "persist", unit, size, 1, summary(std::move(found))});
  return {};
}

// Of a folder: a file in it, gone when it is closed, whatever happens.
Result<std::unique_ptr<MappedFile>> open_place(const std::string& path,
                                               Bytes bytes) {
  if (MappedFile::is_device(path)) {
    return MappedFile::open(path, MappedFile::Access::kWrite);
  }
  const std::string name =
      path + "/thermocline-probe." + std::to_string(::getpid());
  if (auto ok = MappedFile::create(name, bytes, {}); !ok) return ok.error();
  auto file = MappedFile::open(name, MappedFile::Access::kWrite);
  ::unlink(name.c_str());
  return file;
}

}  // namespace

Status check_place(const std::string& path, bool overwrite) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    return file_failure("read", path, errno);
  }
  if (S_ISDIR(found.st_mode)) return {};
  if (!S_ISCHR(found.st_mode)) {
    return invalid("--path " + path +
                   ": neither a folder nor a DAX device; give one of these");
  }
  const auto device =
      dax_device("/", major(found.st_rdev), minor(found.st_rdev), path);
  if (!device) return device.error().within("--path");
  if (!overwrite) {
    return invalid(
        "--path " + path + ": measuring overwrites the first " +
        show_bytes(static_cast<double>(std::min(device->size, kLargestFile))) +
        " of the device; if nothing there is needed, give --force");
  }
  return {};
}

Result<PlaceFigures> measure_file_operations(const std::string& path,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             ProbePace& pace) {
  PlaceFigures out;
  out.place = path;
  pace.begin(
      MappedFile::is_device(path) ? "mapping the device" : "making a file",
      kMakingWeight);
  Bytes bytes = std::min(plan.bytes, kLargestFile) / kPage * kPage;
  auto file = open_place(path, bytes);
  if (!file) return file.error();
  bytes = std::min(bytes, (*file)->bytes().size());
  if (bytes < kPassGrain * plan.cpus.size()) {
    return unsupported(path + " has " + show_bytes(static_cast<double>(bytes)) +
                       ", too little for " + std::to_string(plan.cpus.size()) +
                       " threads; give fewer --threads");
  }
  out.durable = (*file)->durability().power_cut;
  out.unknown = (*file)->durability().unknown;
  out.granularity = granularity_name((*file)->durability().granularity);
  const auto all = (*file)->writable().first(bytes);
  std::ranges::fill(all, std::uint8_t{0});
  for (const Bytes unit : kPersistUnits) {
    auto ok = persist(**file, bytes, std::min(unit, bytes), options, pace, out);
    if (!ok) return ok.error();
  }
  auto ok = measure_operations(
      {reinterpret_cast<float*>(all.data()), all.size() / sizeof(float)}, plan,
      options, pace, out);
  if (!ok) return ok.error();
  return out;
}

int weight_of_file_operations(const NodePlan& plan) {
  return kMakingWeight + static_cast<int>(std::size(kPersistUnits)) +
         weight_of_operations(plan);
}

}  // namespace thermocline
