#include "daemon/state_pool.h"

#include <fcntl.h>
#include <libpmemobj.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include "traces/crc32c.h"

namespace thermocline {
namespace {

// One that was begun before there were slots has another layout, of which the
// library says that it is no pool of ours: it is set aside.
constexpr const char* kLayout = "thermocline_state_slots";
constexpr std::uint64_t kSlotType = 1;
constexpr char kSignature[8] = "PMEMOBJ";  // what a pool begins with
constexpr std::size_t kLeastSlot = std::size_t{1} << 20;
// A child's patience to look: seconds of its own time, which only a damaged
// pool takes, and by the clock, for a disk that does not answer. The latter is
// no verdict: on a busy machine a child may get no time at all for a while.
constexpr rlim_t kPatience = 10;
constexpr unsigned kPatienceByClock = 120;

// What a slot holds.
struct Blob {
  std::uint64_t bytes;
  std::uint32_t crc;
  std::uint32_t unused;
};

// The state is written in turn into two slots, and eight bytes say which of
// them counts. Slots are kept, and made larger by doubling: when each write had
// reserved memory anew, one kill of a few hundred left a pool with which
// libpmemobj 1.12 crashed in pmemobj_reserve (killed, it seems, between a
// reservation and its publication).
struct Root {
  PMEMoid slots[2];
  std::uint64_t writes;  // slots[writes % 2] counts; 0: neither
};

std::uint32_t checksum(const char* data, std::size_t bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(data), bytes});
}

Root* root_of(PMEMobjpool* pool) {
  const PMEMoid root = pmemobj_root(pool, sizeof(Root));
  return static_cast<Root*>(pmemobj_direct(root));
}

std::size_t room_in(PMEMoid slot) {
  return slot.off == 0 ? 0 : pmemobj_alloc_usable_size(slot);
}

// None: what is there is not what it claims to be.
std::optional<std::string> read_blob(PMEMobjpool* pool) {
  const auto* root = root_of(pool);
  if (root == nullptr) return std::nullopt;
  if (root->writes == 0) return std::string();
  const PMEMoid slot = root->slots[root->writes % 2];
  const auto room = room_in(slot);
  const auto* blob = static_cast<const Blob*>(pmemobj_direct(slot));
  if (blob == nullptr || room < sizeof(Blob) ||
      blob->bytes > room - sizeof(Blob)) {
    return std::nullopt;
  }
  const auto* data = reinterpret_cast<const char*>(blob + 1);
  if (checksum(data, blob->bytes) != blob->crc) return std::nullopt;
  return std::string(data, blob->bytes);
}

// Makes the slot that does not count at least so large.
bool make_room(PMEMobjpool* pool, PMEMoid& slot, std::size_t bytes) {
  if (room_in(slot) >= bytes) return true;
  if (slot.off != 0) pmemobj_free(&slot);
  const auto size = std::bit_ceil(std::max(bytes, kLeastSlot));
  return pmemobj_alloc(pool, &slot, size, kSlotType, nullptr, nullptr) == 0 ||
         pmemobj_alloc(pool, &slot, bytes, kSlotType, nullptr, nullptr) == 0;
}

Status write_blob(PMEMobjpool* pool, std::string_view bytes) {
  auto* root = root_of(pool);
  auto& slot = root->slots[(root->writes + 1) % 2];
  if (bytes.size() > StatePool::kBytes ||
      !make_room(pool, slot, sizeof(Blob) + bytes.size())) {
    return io("no room in the state's pool for " +
              std::to_string(bytes.size()) + " bytes");
  }
  auto* blob = static_cast<Blob*>(pmemobj_direct(slot));
  const Blob head{bytes.size(), checksum(bytes.data(), bytes.size()), 0};
  pmemobj_memcpy(pool, blob, &head, sizeof head, PMEMOBJ_F_MEM_NODRAIN);
  pmemobj_memcpy(pool, blob + 1, bytes.data(), bytes.size(), 0);
  ++root->writes;
  pmemobj_persist(pool, &root->writes, sizeof root->writes);
  return {};
}

enum class Health : std::uint8_t {
  kWell,
  kDamaged,
  kInUse,
  kForbidden,
  kUnknown,  // nobody could look
};

// In a child process: opens, reads, and writes again what it read.
Health try_out(const std::string& path) {
  auto* pool = pmemobj_open(path.c_str(), kLayout);
  if (pool == nullptr) {
    if (errno == EAGAIN) return Health::kInUse;
    if (errno == EACCES || errno == EPERM) return Health::kForbidden;
    return Health::kDamaged;
  }
  const auto bytes = read_blob(pool);
  if (!bytes || (!bytes->empty() && !write_blob(pool, *bytes))) {
    return Health::kDamaged;
  }
  pmemobj_close(pool);
  return Health::kWell;
}

// What the pool itself makes a process die of. All else came from outside: the
// clock, whoever kills where memory is short.
constexpr std::array kOfDamage{SIGSEGV, SIGBUS, SIGABRT,
                               SIGFPE,  SIGILL, SIGXCPU};

Health health_of(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Whoever handles them in this process (a sanitizer) would exit instead.
    for (const int signal : kOfDamage) ::signal(signal, SIG_DFL);
    const rlimit patience{kPatience, RLIM_INFINITY};
    ::setrlimit(RLIMIT_CPU, &patience);
    ::alarm(kPatienceByClock);
    ::_exit(static_cast<int>(try_out(path)));
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) return Health::kUnknown;
  if (WIFSIGNALED(status)) {
    return std::ranges::count(kOfDamage, WTERMSIG(status)) != 0
               ? Health::kDamaged
               : Health::kUnknown;
  }
  return std::min(static_cast<Health>(WEXITSTATUS(status)), Health::kUnknown);
}

}  // namespace

struct StatePool::Impl {
  explicit Impl(PMEMobjpool* opened) : pool(opened) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { pmemobj_close(pool); }
  PMEMobjpool* pool;
};

StatePool::StatePool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StatePool::StatePool(StatePool&&) noexcept = default;
StatePool& StatePool::operator=(StatePool&&) noexcept = default;
StatePool::~StatePool() = default;

Status StatePool::write(std::string_view bytes) {
  return write_blob(impl_->pool, bytes);
}

Result<std::string> set_aside(const std::string& path) {
  for (int i = 1; i < 1000; ++i) {
    auto name = path + ".damaged-" + std::to_string(i);
    if (::access(name.c_str(), F_OK) == 0) continue;
    if (::rename(path.c_str(), name.c_str()) == 0) return name;
    return io("cannot rename " + path + ": " + std::strerror(errno));
  }
  return io(path + ".damaged-* are 999 already; remove some");
}

// A damaged pool may be set aside; what never was one is somebody's.
Status StatePool::check(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (S_ISLNK(found.st_mode) && ::stat(path.c_str(), &found) != 0) {
    return invalid("--state " + path +
                   " is a link to a file that is not there; remove it, or "
                   "choose another file");
  }
  if (!S_ISREG(found.st_mode)) {
    return invalid("--state " + path +
                   " is a directory, a pipe or a device; choose a file");
  }
  if (found.st_size == 0 || found.st_size == static_cast<off_t>(kBytes)) {
    return {};
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};  // open() says why
  std::array<char, sizeof kSignature> first{};
  const auto read = ::read(fd, first.data(), first.size());
  ::close(fd);
  // One that was being made may have only zeros.
  if (read <= 0 || first[0] == 0 ||
      std::memcmp(first.data(), kSignature, sizeof kSignature) == 0) {
    return {};
  }
  return invalid("--state " + path +
                 " is a file of something else, and was left alone; choose "
                 "another file");
}

Result<StatePool::Opened> StatePool::open(const std::string& path) {
  if (auto status = check(path); !status) return status.error();
  std::string notice;
  bool fresh = ::access(path.c_str(), F_OK) != 0;
  if (!fresh) {
    switch (health_of(path)) {
      case Health::kWell: break;
      case Health::kInUse:
        return io("--state " + path +
                  " is in use by another thermoclined; choose another file");
      case Health::kUnknown:
        return io("--state " + path +
                  " could not be looked at, so it was left alone: out of "
                  "memory, or a disk that does not answer; try again, or "
                  "choose another file");
      case Health::kForbidden:
        return permission("--state " + path + " may not be read and written");
      case Health::kDamaged: {
        const auto name = set_aside(path);
        if (!name) return name.error();
        notice = "the state in " + path + " was damaged: it is now " + *name +
                 ", and a new one was begun";
        fresh = true;
      }
    }
  }
  auto* pool = fresh ? pmemobj_create(path.c_str(), kLayout, kBytes, 0600)
                     : pmemobj_open(path.c_str(), kLayout);
  if (pool == nullptr) {
    const int error = errno;
    // What is half made; but not what another made meanwhile.
    if (fresh && error != EEXIST) ::unlink(path.c_str());
    return io("--state " + path + " cannot be " + (fresh ? "made" : "opened") +
              ": " + std::strerror(error) +
              (error == ENOSPC
                   ? "; it takes " + std::to_string(kBytes >> 20) + " MiB"
                   : ""));
  }
  StatePool out(std::make_unique<Impl>(pool));
  return Opened{std::move(out), read_blob(pool).value_or(std::string()),
                notice};
}

}  // namespace thermocline
