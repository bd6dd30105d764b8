// mover "numa": moves pages with move_pages(2); the only caller of it.
#include <dirent.h>
#include <fcntl.h>
#include <numaif.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "daemon/mover.h"
#include "daemon/page_moves.h"
#include "daemon/syscalls.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Error file_error(const std::string& path, int error_number) {
  const std::string text = path + ": " + std::strerror(error_number);
  switch (error_number) {
    case ENOENT:
    case ESRCH: return not_found(text);
    case EACCES:
    case EPERM: return permission(text);
    default: return io(text);
  }
}

class LinuxKernel final : public Kernel {
 public:
  explicit LinuxKernel(std::string root) : root_(std::move(root)) {
    if (root_.empty() || root_.back() != '/') root_ += '/';
    page_bytes_ = static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  }

  long move_pages(int pid, std::span<const Address> pages,
                  std::span<const int> nodes, std::span<int> status) override {
    CHECK(status.size() == pages.size());
    CHECK(nodes.empty() || nodes.size() == pages.size());
    const long got = ::syscall(SYS_move_pages, pid, pages.size(), pages.data(),
                               nodes.empty() ? nullptr : nodes.data(),
                               status.data(), nodes.empty() ? 0 : flags_);
    return got < 0 ? -errno : got;
  }

  Status move_shared() override {
    // The right is asked for before anything is looked at.
    if (::syscall(SYS_move_pages, 0, 0, nullptr, nullptr, nullptr,
                  MPOL_MF_MOVE_ALL) != 0) {
      return permission(
          "to move what other processes map, too, takes CAP_SYS_NICE; run as "
          "root or as the service, or leave move_shared out");
    }
    flags_ = MPOL_MF_MOVE_ALL;
    return {};
  }

  Result<std::string> read_file(const std::string& path) override {
    std::string text;
    if (auto status = reread_file(path, text); !status) return status.error();
    return text;
  }

  Status reread_file(const std::string& path, std::string& text) override {
    const std::string full = root_ + path;
    const Descriptor file(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error(full, errno);
    text.clear();
    // procfs fills at most a page or so a read; the buffer keeps its size.
    char buffer[16384];
    for (;;) {
      const auto got = ::read(file.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(full, errno);
      if (got == 0) return {};
      text.append(buffer, static_cast<std::size_t>(got));
      if (text.size() > kLargestFile) return io(full + ": larger than 64 MiB");
    }
  }

  Result<std::uint64_t> read_word(const std::string& path,
                                  std::uint64_t offset) override {
    const std::string full = root_ + path;
    const Descriptor file(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error(full, errno);
    std::uint64_t word = 0;
    const auto got =
        ::pread(file.get(), &word, sizeof word, static_cast<off_t>(offset));
    if (got < 0) return file_error(full, errno);
    if (got != sizeof word) return not_found(full + ": shorter than asked");
    return word;
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    const std::string full = root_ + path;
    DIR* const directory = ::opendir(full.c_str());
    if (directory == nullptr) return file_error(full, errno);
    std::vector<std::string> out;
    while (const dirent* const entry = ::readdir(directory)) {
      out.emplace_back(entry->d_name);
    }
    ::closedir(directory);
    return out;
  }

  Result<std::string> read_link(const std::string& path) override {
    const std::string full = root_ + path;
    char buffer[4096];
    const auto got = ::readlink(full.c_str(), buffer, sizeof buffer);
    if (got < 0) return file_error(full, errno);
    return std::string(buffer, static_cast<std::size_t>(got));
  }

  // A lock on the process's own directory: it is of this process and no later
  // one of that pid, needs no file of ours, and ends with whoever holds it.
  Result<Claim> claim(int pid) override {
    const std::string full = root_ + "proc/" + std::to_string(pid);
    const int fd = ::open(full.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return file_error(full, errno);
    Claim out(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return out;
    if (errno != EWOULDBLOCK) return file_error(full, errno);
    return invalid("pid " + std::to_string(pid) +
                   " is managed by another thermoclined; detach it there, or "
                   "stop that one");
  }

  Nanos now() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Bytes page_bytes() const override { return page_bytes_; }

  bool any_thread() const override { return true; }  // it changes nothing

 private:
  std::string root_;
  Bytes page_bytes_;
  int flags_ = MPOL_MF_MOVE;
};

class NumaMover final : public Mover {
 public:
  struct Options {
    void fields(auto&) {}
  };
  static Result<std::unique_ptr<Mover>> make(Options) {
    return std::unique_ptr<Mover>(std::make_unique<NumaMover>());
  }
  bool moves() const override { return true; }
  std::vector<MoveOutcome> move(Kernel& kernel, const Machine& machine, int pid,
                                std::span<const MoveOrder> orders) override {
    return move_pages_of(kernel, machine, pid, orders);
  }
};

const Register<Mover> kEntry{
    "numa", entry<Mover, NumaMover>("Moves pages with move_pages(2).")};

}  // namespace

Claim::~Claim() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::unique_ptr<Kernel> open_kernel(const std::string& root) {
  return std::make_unique<LinuxKernel>(root);
}

}  // namespace thermocline
