#include "daemon/state_pool.h"

#include <libpmemobj.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include "traces/crc32c.h"

namespace thermocline {
namespace {

constexpr const char* kLayout = "thermocline_state";
constexpr std::uint64_t kBlobType = 1;
constexpr unsigned kPatience = 10;  // seconds a child may take to look

struct Root {
  PMEMoid blob;
};

struct Blob {
  std::uint64_t bytes;
  std::uint32_t crc;
  std::uint32_t unused;
};

std::uint32_t checksum(const char* data, std::size_t bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(data), bytes});
}

Root* root_of(PMEMobjpool* pool) {
  const PMEMoid root = pmemobj_root(pool, sizeof(Root));
  return static_cast<Root*>(pmemobj_direct(root));
}

// None: what is there is not what it claims to be.
std::optional<std::string> read_blob(PMEMobjpool* pool) {
  const auto* root = root_of(pool);
  if (root == nullptr) return std::nullopt;
  if (root->blob.off == 0) return std::string();
  const auto room = pmemobj_alloc_usable_size(root->blob);
  const auto* blob = static_cast<const Blob*>(pmemobj_direct(root->blob));
  if (blob == nullptr || room < sizeof(Blob) ||
      blob->bytes > room - sizeof(Blob)) {
    return std::nullopt;
  }
  const auto* data = reinterpret_cast<const char*>(blob + 1);
  if (checksum(data, blob->bytes) != blob->crc) return std::nullopt;
  return std::string(data, blob->bytes);
}

Status write_blob(PMEMobjpool* pool, std::string_view bytes) {
  auto* root = root_of(pool);
  std::array<pobj_action, 4> actions{};
  const PMEMoid fresh = pmemobj_reserve(pool, actions.data(),
                                        sizeof(Blob) + bytes.size(), kBlobType);
  if (fresh.off == 0) {
    return io("no room in the state's pool for " +
              std::to_string(bytes.size()) + " bytes");
  }
  auto* blob = static_cast<Blob*>(pmemobj_direct(fresh));
  const Blob head{bytes.size(), checksum(bytes.data(), bytes.size()), 0};
  pmemobj_memcpy(pool, blob, &head, sizeof head, PMEMOBJ_F_MEM_NODRAIN);
  pmemobj_memcpy(pool, blob + 1, bytes.data(), bytes.size(), 0);
  std::size_t count = 1;
  if (root->blob.off != 0) {
    pmemobj_defer_free(pool, root->blob, &actions[count++]);
  }
  pmemobj_set_value(pool, &actions[count++], &root->blob.pool_uuid_lo,
                    fresh.pool_uuid_lo);
  pmemobj_set_value(pool, &actions[count++], &root->blob.off, fresh.off);
  if (pmemobj_publish(pool, actions.data(), count) == 0) return {};
  pmemobj_cancel(pool, actions.data(), 1);
  return io(std::string("the state's pool: ") + pmemobj_errormsg());
}

enum class Health : std::uint8_t { kWell, kDamaged, kInUse, kForbidden };

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

Health health_of(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatience);
    ::_exit(static_cast<int>(try_out(path)));
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || !WIFEXITED(status)) return Health::kDamaged;
  return static_cast<Health>(WEXITSTATUS(status));
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

Result<StatePool::Opened> StatePool::open(const std::string& path) {
  struct stat found {};
  std::string notice;
  bool fresh = ::stat(path.c_str(), &found) != 0;
  if (!fresh && S_ISDIR(found.st_mode)) {
    return invalid("--state " + path + " is a directory, not a file");
  }
  if (!fresh) {
    switch (health_of(path)) {
      case Health::kWell: break;
      case Health::kInUse:
        return io("--state " + path +
                  " is in use by another thermoclined; choose another file");
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
    if (fresh) ::unlink(path.c_str());  // what is half made
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
