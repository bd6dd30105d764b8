#include "tests/training/recorded_file.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thermocline {
namespace {

RecordedFile* recorded = nullptr;
struct stat recorded_file = {};

bool is_recorded(int descriptor) {
  struct stat found = {};
  return recorded != nullptr && ::fstat(descriptor, &found) == 0 &&
         found.st_dev == recorded_file.st_dev &&
         found.st_ino == recorded_file.st_ino;
}

pmem2_granularity in_libpmem2(Granularity granularity) {
  switch (granularity) {
    case Granularity::kByte: return PMEM2_GRANULARITY_BYTE;
    case Granularity::kLine: return PMEM2_GRANULARITY_CACHE_LINE;
    case Granularity::kPage: return PMEM2_GRANULARITY_PAGE;
  }
  return PMEM2_GRANULARITY_PAGE;
}

}  // namespace

struct RecordedFile::Functions {
  static pmem2_granularity granularity(pmem2_map* map) {
    static_cast<void>(map);
    return in_libpmem2(recorded->granularity_);
  }
  static pmem2_memcpy_fn copy_of(pmem2_map* map) {
    static_cast<void>(map);
    return copy;
  }
  static pmem2_flush_fn flush_of(pmem2_map* map) {
    static_cast<void>(map);
    return flush;
  }
  static pmem2_drain_fn drain_of(pmem2_map* map) {
    static_cast<void>(map);
    return drain;
  }

  static void* copy(void* to, const void* from, std::size_t size,
                    unsigned flags) {
    const std::lock_guard lock(recorded->mutex_);
    recorded->notice_stores();
    std::memcpy(to, from, size);
    auto& domain = *recorded->domain_;
    const Bytes at = offset(to);
    domain.store(at, {static_cast<const std::uint8_t*>(from), size});
    if ((flags & PMEM2_F_MEM_NOFLUSH) == 0) domain.flush(at, size);
    if ((flags & (PMEM2_F_MEM_NODRAIN | PMEM2_F_MEM_NOFLUSH)) == 0) {
      domain.drain();
    }
    return to;
  }
  static void flush(const void* from, std::size_t size) {
    const std::lock_guard lock(recorded->mutex_);
    recorded->notice_stores();
    if (recorded->flushes_ == Flushes::kNone) return;
    recorded->domain_->flush(offset(from), size);
  }
  static void drain() {
    const std::lock_guard lock(recorded->mutex_);
    recorded->notice_stores();
    recorded->domain_->drain();
  }

  static void written(Bytes at, ByteSpan bytes) {
    const std::lock_guard lock(recorded->mutex_);
    recorded->domain_->store(at, bytes);
  }
  static void synced() {
    const std::lock_guard lock(recorded->mutex_);
    recorded->notice_stores();
    auto& domain = *recorded->domain_;
    domain.sync(0, domain.bytes().size());
  }

 private:
  static Bytes offset(const void* at) {
    return static_cast<Bytes>(static_cast<const std::uint8_t*>(at) -
                              recorded->file_->bytes().data());
  }
};

RecordedFile::RecordedFile(const std::string& path, Granularity granularity,
                           Flushes flushes)
    : granularity_(granularity), flushes_(flushes), library_{} {
  CHECK(recorded == nullptr);
  recorded = this;
  const auto real = pmem_library();
  CHECK(real);
  library_ = **real;
  library_.map_get_store_granularity = Functions::granularity;
  library_.get_memcpy_fn = Functions::copy_of;
  library_.get_flush_fn = Functions::flush_of;
  library_.get_drain_fn = Functions::drain_of;
  auto opened = MappedFile::open(path, MappedFile::Access::kWrite, &library_);
  CHECK(opened);
  file_ = *std::move(opened);
  const auto bytes = file_->bytes();
  domain_ = std::make_unique<PersistenceDomain>(
      granularity, ByteVector(bytes.begin(), bytes.end()));
  CHECK(::stat(path.c_str(), &recorded_file) == 0);
}

RecordedFile::~RecordedFile() { recorded = nullptr; }

// Words that were stored without a call, and nothing else of them is known.
void RecordedFile::notice_stores() {
  const auto there = file_->bytes();
  for (Bytes at = 0; at < there.size(); at += 8) {
    if (std::memcmp(&there[at], &domain_->bytes()[at], 8) == 0) continue;
    const ByteVector word(&there[at], &there[at] + 8);
    domain_->store(at, word);
  }
}

}  // namespace thermocline

// The C library's, as far as this program is concerned.
extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const auto n = ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
  if (n > 0 && thermocline::is_recorded(descriptor)) {
    thermocline::RecordedFile::Functions::written(
        static_cast<thermocline::Bytes>(offset),
        {static_cast<const std::uint8_t*>(bytes), static_cast<size_t>(n)});
  }
  return n;
}

int fdatasync(int descriptor) {
  if (thermocline::is_recorded(descriptor)) {
    thermocline::RecordedFile::Functions::synced();
    return 0;  // no real crash is to come
  }
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
}
