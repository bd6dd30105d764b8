#include "tracer/perf_ring_set.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tracer/perf_attributes.h"
#include "tracer/perf_open.h"
#include "tracer/sampling_rights.h"

namespace thermocline {
namespace {

// The numbers that name entries of a folder; sets `error` to the errno when it
// cannot be read.
std::vector<int> numbers_in(const std::string& folder, int& error) {
  std::vector<int> found;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder, failed)) {
    const auto name = entry.path().filename().string();
    int number = 0;
    const auto [end, bad] =
        std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad == std::errc() && *end == '\0') found.push_back(number);
  }
  error = failed.value();
  std::sort(found.begin(), found.end());
  return found;
}

// "0-3,8": CPU numbers may have holes.
std::vector<int> online_cpus() {
  std::ifstream in("/sys/devices/system/cpu/online");
  std::vector<int> cpus;
  int first = 0;
  while (in >> first) {
    int last = first;
    if (in.peek() == '-') in.ignore() >> last;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (in.peek() == ',') in.ignore();
  }
  if (cpus.empty()) {  // no /sys here
    const auto count = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::string SamplingTarget::name() const {
  return cgroup.empty() ? "process " + std::to_string(pid) : "cgroup " + cgroup;
}

RingSet::~RingSet() {
  rings_.clear();
  for (const auto& one : open_) close(one.descriptor);
  for (const int leader : leaders_) close(leader);
  if (cgroup_ >= 0) close(cgroup_);
}

Error RingSet::refused(int error, const PerfEvent& event) const {
  return sampling_error(error, event, target_.name(),
                        sampling_rights("", target_.pid), target_.whole_cpus());
}

Status RingSet::open(const SamplingTarget& target,
                     std::span<const PerfEvent> events,
                     std::span<const std::uint64_t> periods,
                     const std::function<void(int)>& watch) {
  CHECK(events.size() == periods.size() && attrs_.empty());
  target_ = target;
  events_.assign(events.begin(), events.end());
  cpus_ = online_cpus();
  ring_owners_.assign(cpus_.size(), -1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    attrs_.push_back(sampling_attributes(events[i], periods[i]));
    if (target.children) attrs_[i].inherit_thread = 0;
    if (target.whole_cpus()) attrs_[i].inherit = attrs_[i].inherit_thread = 0;
  }
  if (target.pid > 0 && (!target.children || target.whole_cpus())) {
    decoder_.keep_only(static_cast<std::uint32_t>(target.pid));
  }
  if (!target.whole_cpus()) return open_threads(watch);
  if (target.cgroup.empty()) return open_cpus(-1, watch);
  cgroup_ = ::open(target.cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (cgroup_ < 0) {
    return not_found(target.cgroup + ": " + std::strerror(errno) +
                     "; give a cgroup's directory, below /sys/fs/cgroup");
  }
  return open_cpus(cgroup_, watch);
}

Status RingSet::open_cpus(int pid, const std::function<void(int)>& watch) {
  if (auto status = open_on(pid, watch); !status) return status;
  if (rings_.empty()) return refused(ENODEV, events_[0]);
  return {};
}

// A thread that starts while we open is inherited only from one that is open
// already: look again until there is no new one.
Status RingSet::open_threads(const std::function<void(int)>& watch) {
  const auto folder = "/proc/" + std::to_string(target_.pid) + "/task";
  std::set<int> known;
  for (bool more = true; more;) {
    more = false;
    int error = 0;
    auto threads = numbers_in(folder, error);
    if (error == EMFILE && raise_file_limit()) {
      threads = numbers_in(folder, error);
    }
    if (error == EMFILE || error == ENFILE) return refused(error, events_[0]);
    for (const int thread : threads) {
      if (!known.insert(thread).second) continue;
      more = true;
      if (auto status = open_on(thread, watch); !status) return status;
    }
  }
  if (rings_.empty()) {
    return not_found("no " + target_.name() +
                     "; it has ended, or its number is wrong (ps or pgrep)");
  }
  return {};
}

Status RingSet::open_on(int pid, const std::function<void(int)>& watch) {
  for (std::size_t event = 0; event < events_.size(); ++event) {
    for (std::size_t cpu = 0; cpu < cpus_.size(); ++cpu) {
      auto status = open_one(event, pid, cpu, watch);
      if (!status) return status;
    }
  }
  return {};
}

Status RingSet::open_one(std::size_t index, int pid, std::size_t cpu,
                         const std::function<void(int)>& watch) {
  const auto& event = events_[index];
  auto& attr = attrs_[index];
  const unsigned long flags = cgroup_ >= 0 ? PERF_FLAG_PID_CGROUP : 0UL;
  int group = -1;
  if (event.auxiliary != 0) {
    auto leader = auxiliary_attributes(attr, event.auxiliary);
    group = perf_event_open(leader, pid, cpus_[cpu], -1, flags);
    if (group >= 0) leaders_.push_back(group);
  }
  int opened = -1;
  do {
    opened = perf_event_open(attr, pid, cpus_[cpu], group, flags);
  } while (opened < 0 && degrade(attr, event, errno));
  const bool thread = !target_.whole_cpus();
  if (opened < 0 && errno == ESRCH && thread) return {};    // it has ended
  if (opened < 0 && errno == ENODEV && !thread) return {};  // CPU went offline
  if (opened < 0) return refused(errno, event);
  open_.push_back({opened, index});
  std::uint64_t id = 0;
  if (ioctl(opened, PERF_EVENT_IOC_ID, &id) != 0) return refused(errno, event);
  if (auto status = tell_decoder(index, id); !status) return status;
  return join_ring(opened, cpu, watch);
}

// The decoder knows an event once, and the id of each of its descriptors.
Status RingSet::tell_decoder(std::size_t event, std::uint64_t id) {
  if (event < decoder_.events()) return decoder_.add_id(event, id);
  std::size_t size = 0;
  const auto& attr = attrs_[event];
  auto format = decode_attributes(
      {reinterpret_cast<const std::uint8_t*>(&attr), sizeof attr}, &size);
  if (!format) return format.error();
  format->name = events_[event].name;
  format->losses_asked = (attr.read_format & kPerfFormatLost) != 0;
  return decoder_.add_event(*std::move(format), {&id, 1});
}

// The first event on a CPU brings the ring, the others write into it.
Status RingSet::join_ring(int descriptor, std::size_t cpu,
                          const std::function<void(int)>& watch) {
  if (ring_owners_[cpu] >= 0) {
    const int joined =
        ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, ring_owners_[cpu]);
    if (joined == 0) return {};
    return io(std::string("joining a ring buffer: ") + std::strerror(errno));
  }
  auto ring = RingMemory::map(descriptor);
  if (!ring) return ring.error();
  rings_.push_back(*std::move(ring));
  ring_owners_[cpu] = descriptor;
  watch(descriptor);
  return {};
}

void RingSet::stop() {
  for (const auto& one : open_)
    ioctl(one.descriptor, PERF_EVENT_IOC_DISABLE, 0);
}

void RingSet::drain(SampleBatch& batch) {
  for (auto& ring : rings_) ring.drain(decoder_, scratch_, batch);
}

bool RingSet::knows_of_loss() const {
  return decoder_.lost_records() != told_losses_;
}

void RingSet::ask_losses(SampleBatch& batch) {
  told_losses_ = decoder_.lost_records();
  for (auto& one : open_) {
    if ((attrs_[one.event].read_format & kPerfFormatLost) == 0) continue;
    std::array<std::uint64_t, 2> values{};  // the count, and the losses
    if (read(one.descriptor, values.data(), sizeof values) != sizeof values) {
      continue;
    }
    const auto fresh = values[1] - std::min(one.lost, values[1]);
    if (fresh > 0) batch.fell_short(events_[one.event].name, fresh, 0);
    one.lost = values[1];
  }
}

}  // namespace thermocline
