// mover "numa": moves pages with move_pages(2); the only caller of it.
#include <fcntl.h>
#include <numaif.h>
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
                               status.data(), nodes.empty() ? 0 : MPOL_MF_MOVE);
    return got < 0 ? -errno : got;
  }

  Result<std::string> read_file(const std::string& path) override {
    const std::string full = root_ + path;
    const Descriptor file(::open(full.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error(full, errno);
    std::string out;
    // procfs fills at most a page or so a read; the buffer keeps its size.
    char buffer[16384];
    for (;;) {
      const auto got = ::read(file.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(full, errno);
      if (got == 0) return out;
      out.append(buffer, static_cast<std::size_t>(got));
      if (out.size() > kLargestFile) return io(full + ": larger than 64 MiB");
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

  Nanos now() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Bytes page_bytes() const override { return page_bytes_; }

 private:
  std::string root_;
  Bytes page_bytes_;
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

std::unique_ptr<Kernel> open_kernel(const std::string& root) {
  return std::make_unique<LinuxKernel>(root);
}

}  // namespace thermocline
