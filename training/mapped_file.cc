#include "training/mapped_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "traces/replace_file.h"
#include "training/file_system.h"
#include "training/pmem_library.h"

namespace thermocline {
namespace {

constexpr Bytes kPageBytes = 4096;

// Stores that go past the caches pay from here on; what is smaller is soon
// read again.
constexpr Bytes kStreamed = Bytes{64} << 10;

// The disk is told to begin when so much is new.
constexpr Bytes kBegun = Bytes{8} << 20;

Granularity granularity_of(pmem2_granularity found) {
  switch (found) {
    case PMEM2_GRANULARITY_BYTE: return Granularity::kByte;
    case PMEM2_GRANULARITY_CACHE_LINE: return Granularity::kLine;
    case PMEM2_GRANULARITY_PAGE: return Granularity::kPage;
  }
  return Granularity::kPage;
}

FileSystem file_system_of(int descriptor) {
  struct statfs fs = {};
  if (::fstatfs(descriptor, &fs) != 0) {
    return {FileSystem::Keeps::kUnknown, "which cannot be asked"};
  }
  return file_system(static_cast<std::uint64_t>(fs.f_type));
}

// Returns: 0, or errno.
int write_all(int file, Bytes offset, ByteSpan bytes) {
  Bytes at = 0;
  while (at < bytes.size()) {
    const auto n = ::pwrite(file, bytes.data() + at, bytes.size() - at,
                            static_cast<off_t>(offset + at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    at += static_cast<Bytes>(n);
  }
  return 0;
}

int fill(int file, Bytes size, ByteSpan begin) {
  // Asked first: a disk filled to the brim is everybody's trouble.
  struct statfs fs = {};
  if (::fstatfs(file, &fs) == 0 && fs.f_bsize > 0 &&
      size / static_cast<Bytes>(fs.f_bsize) >= fs.f_bavail) {
    return ENOSPC;
  }
  if (const int code = ::posix_fallocate(file, 0, static_cast<off_t>(size));
      code != 0) {
    return code;
  }
  if (const int code = write_all(file, 0, begin); code != 0) return code;
  return ::fsync(file) == 0 ? 0 : errno;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

constexpr int kNoSuchFiles = -1;

// A file without a name until it is whole. Returns: 0, errno, or kNoSuchFiles
// where it can have none.
int create_unnamed(const std::string& path, Bytes size, ByteSpan begin) {
  const int file = ::open(folder_of(path).c_str(),
                          O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return kNoSuchFiles;
  int why = fill(file, size, begin);
  const std::string unnamed = "/proc/self/fd/" + std::to_string(file);
  if (why == 0 && ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(),
                           AT_SYMLINK_FOLLOW) != 0) {
    why = errno == EEXIST ? EEXIST : kNoSuchFiles;
  }
  ::close(file);
  return why;
}

// Returns: 0, or errno.
int create_beside(const std::string& path, Bytes size, ByteSpan begin) {
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return errno;
  int why = fill(file, size, begin);
  ::close(file);
  if (why == 0) why = put_in_place(temporary, path, Existing::kKeep);
  if (why != 0) ::unlink(temporary.c_str());
  return why;
}

}  // namespace

bool MappedFile::is_device(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 && S_ISCHR(found.st_mode);
}

Status MappedFile::create(const std::string& path, Bytes size, ByteSpan begin) {
  CHECK(begin.size() <= size);
  int why = create_unnamed(path, size, begin);
  if (why == kNoSuchFiles) why = create_beside(path, size, begin);
  if (why == 0) why = sync_folder_of(path);
  if (why == 0) return {};
  if (why == EEXIST) {
    return invalid("cannot create " + path +
                   ": it exists; open it, or remove it first");
  }
  if (why != ENOSPC && why != EFBIG) return file_failure("create", path, why);
  return io("cannot create " + path + ": " + std::strerror(why) +
            "; it takes " + std::to_string(size >> 20) +
            " MiB: make room, name another disk, or ask for less");
}

Result<std::unique_ptr<MappedFile>> MappedFile::open(
    const std::string& path, Access access, const PmemLibrary* library) {
  const bool write = access == Access::kWrite;
  // A pipe is not waited for: look() refuses it.
  const int file = ::open(path.c_str(),
                          (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENXIO) {
    return invalid(path +
                   " cannot be opened; if it is a DAX device that is system "
                   "RAM now: daxctl reconfigure-device --mode devdax");
  }
  if (file < 0) {
    // To write, yet it is to be there.
    if (errno == ENOENT) return file_failure("open", path, errno);
    return file_failure(write ? "write" : "read", path, errno);
  }
  std::unique_ptr<MappedFile> out(new MappedFile(path, file, access));
  out->pmem_ = library;
  if (auto ok = out->look(); !ok) return ok.error();
  if (write && ::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return file_failure("lock", path, errno);
    return invalid(path +
                   " is in use by another process; wait for it to end, or use "
                   "another pool");
  }
  if (auto ok = out->map(); !ok) return ok.error();
  return out;
}

// What it is, before anything is made of it.
Status MappedFile::look() {
  struct stat found = {};
  if (::fstat(descriptor_, &found) != 0) {
    return file_failure("read", path_, errno);
  }
  if (S_ISCHR(found.st_mode)) {
    auto device =
        dax_device("/", major(found.st_rdev), minor(found.st_rdev), path_);
    if (!device) return device.error();
    device_ = *std::move(device);
    return {};
  }
  if (!S_ISREG(found.st_mode))
    return invalid(path_ + " is not a file; name one");
  if (found.st_size == 0) {
    return corrupt(path_ + " is empty; remove it, and it is made anew");
  }
  return {};
}

Status MappedFile::map() {
  if (pmem_ == nullptr) {
    const auto library = pmem_library();
    if (!library) return library.error();
    pmem_ = *library;
  }
  pmem2_source* source = nullptr;
  pmem2_config* config = nullptr;
  const bool failed =
      pmem_->source_from_fd(&source, descriptor_) != 0 ||
      pmem_->config_new(&config) != 0 ||
      pmem_->config_set_required_store_granularity(
          config, PMEM2_GRANULARITY_PAGE) != 0 ||
      pmem_->config_set_protection(
          config, access_ == Access::kWrite ? PMEM2_PROT_READ | PMEM2_PROT_WRITE
                                            : PMEM2_PROT_READ) != 0 ||
      pmem_->map_new(&map_, config, source) != 0;
  pmem_->config_delete(&config);
  pmem_->source_delete(&source);
  if (failed) return io("cannot map " + path_ + ": " + pmem_->errormsg());
  data_ = static_cast<std::uint8_t*>(pmem_->map_get_address(map_));
  size_ = pmem_->map_get_size(map_);
  const Granularity found =
      granularity_of(pmem_->map_get_store_granularity(map_));
  if (device_) {
    durability_ = {.granularity = found, .power_cut = device_->persistent};
    if (!device_->persistent) {
      durability_.why = device_->name + " is no persistent memory";
    }
  } else {
    const FileSystem system = file_system_of(descriptor_);
    durability_ = durability_of(system, found);
    in_memory_ = found == Granularity::kPage &&
                 system.keeps == FileSystem::Keeps::kMemory;
    through_file_ = found == Granularity::kPage && !in_memory_;
  }
  if (durability_.power_cut &&
      std::getenv("PMEM2_FORCE_GRANULARITY") != nullptr) {
    durability_ = {.granularity = found,
                   .why = "PMEM2_FORCE_GRANULARITY is set, which is for tests"};
  }
  copy_ = pmem_->get_memcpy_fn(map_);
  flush_ = pmem_->get_flush_fn(map_);
  drain_ = pmem_->get_drain_fn(map_);
  return {};
}

MappedFile::~MappedFile() {
  if (map_ != nullptr) pmem_->map_delete(&map_);
  ::close(descriptor_);
}

Status MappedFile::populate(Bytes offset, Bytes size, int advice) const {
  CHECK(offset <= size_ && size <= size_ - offset);
  const Bytes from = offset / kPageBytes * kPageBytes;
  const Bytes length = offset + size - from;
  if (size == 0) return {};
  while (::madvise(data_ + from, length, advice) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    // All else says nothing of the memory: an older kernel, no room for tables.
    if (errno != EFAULT && errno != EHWPOISON) return {};
    return corrupt("its bytes " + std::to_string(offset) + " to " +
                   std::to_string(offset + size) +
                   " cannot be reached: the memory has a bad block there, or "
                   "the file was cut short");
  }
  return {};
}

Status MappedFile::within_file(Bytes offset, Bytes size) const {
  struct stat now = {};
  if (::fstat(descriptor_, &now) != 0 || !S_ISREG(now.st_mode) ||
      offset + size <= static_cast<Bytes>(now.st_size)) {
    return {};
  }
  return corrupt("its bytes " + std::to_string(offset) + " to " +
                 std::to_string(offset + size) +
                 " are there no more: the file was cut short");
}

// Populating takes a third of a restore of what is in memory already. So of a
// file that is no persistent memory its size alone is asked for; that a disk
// cannot read a page ends whoever loads from it, here as elsewhere.
Status MappedFile::loadable(Bytes offset, Bytes size) const {
  if (durability_.granularity == Granularity::kPage) {
    return within_file(offset, size);
  }
  return populate(offset, size, MADV_POPULATE_READ);
}

// Of a file on a disk nothing is stored through the mapping, and tmpfs has no
// bad blocks.
Status MappedFile::storable(Bytes offset, Bytes size) {
  if (durability_.granularity == Granularity::kPage) {
    return within_file(offset, size);
  }
  return populate(offset, size, MADV_POPULATE_WRITE);
}

Status MappedFile::findable() const {
  struct stat now = {};
  if (::fstat(descriptor_, &now) != 0) {
    return file_failure("read", path_, errno);
  }
  if (!S_ISREG(now.st_mode) || now.st_nlink > 0) return {};
  return io(path_ +
            " was removed while it was open, and what is saved into it is lost "
            "with the process; make a new one");
}

void MappedFile::write(Bytes offset, ByteSpan bytes) {
  CHECK(offset <= size_ && bytes.size() <= size_ - offset);
  if (durability_.granularity != Granularity::kPage) {
    copy_(data_ + offset, bytes.data(), bytes.size(), PMEM2_F_MEM_NODRAIN);
  } else if (through_file_) {
    write_through_file(offset, bytes);
  } else if (bytes.size() < kStreamed) {
    if (!bytes.empty()) std::memcpy(data_ + offset, bytes.data(), bytes.size());
  } else {
    // libpmem2's copy would call msync for each piece.
    stream_copy(data_ + offset, bytes.data(), bytes.size());
  }
}

// Each page that is stored to after a sync is a fault, for which the file
// system does more than for copying it, and which the next sync has to write to
// the journal; a write that changes no size is data alone. The disk begins at
// once; sync() waits for it.
void MappedFile::write_through_file(Bytes offset, ByteSpan bytes) {
  {
    // One at a time, as the file system has it; but it has the others turn on
    // their CPUs meanwhile, which the disk's own work needs.
    const std::lock_guard lock(writing_);
    if (const int code = write_all(descriptor_, offset, bytes); code != 0) {
      failed_ = code;
      return;
    }
  }
  // Now and then, for each call costs as much as copying some 500 KB. A hint:
  // where it is not taken, sync() does all.
  const Bytes before = written_.fetch_add(bytes.size());
  if (before / kBegun != (before + bytes.size()) / kBegun) {
    ::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
  }
}

void MappedFile::write_word(Bytes offset, std::uint64_t word) {
  CHECK(offset % 8 == 0 && offset + 8 <= size_);
  if (through_file_) {
    std::uint8_t bytes[8];  // of one page, and so of one write to the disk
    std::memcpy(bytes, &word, 8);
    return write_through_file(offset, bytes);
  }
  auto* at = reinterpret_cast<std::uint64_t*>(data_ + offset);
  std::atomic_ref(*at).store(word, std::memory_order_release);
  if (durability_.granularity != Granularity::kPage) flush_(at, 8);
}

void MappedFile::fence() {
  if (durability_.granularity != Granularity::kPage) return drain_();
  finish_streams();  // stores past the caches are ordered by nothing else
}

Status MappedFile::sync(Bytes offset, Bytes size) {
  CHECK(offset <= size_ && size <= size_ - offset);
  if (durability_.granularity != Granularity::kPage) return {};
  if (const int code = failed_.exchange(0); code != 0) {
    return file_failure("write", path_, code);
  }
  if (in_memory_) return {};  // a sync would find nothing to do
  // Not libpmem2's flush: it aborts the program when the disk fails. Not msync:
  // it waits for the journal, too, for the time of the last change.
  if (::fdatasync(descriptor_) == 0) return {};
  return file_failure("write", path_, errno);
}

std::span<std::uint8_t> MappedFile::writable() {
  CHECK(access_ == Access::kWrite);
  return {data_, size_};
}

Status MappedFile::persist(Bytes offset, Bytes size) {
  if (durability_.granularity != Granularity::kPage) {
    CHECK(offset <= size_ && size <= size_ - offset);
    flush_(data_ + offset, size);
    drain_();
  }
  return sync(offset, size);
}

void MappedFile::let_go(Bytes offset, Bytes size) {
  if (durability_.granularity != Granularity::kPage) return;
  const Bytes from = (offset + kPageBytes - 1) / kPageBytes * kPageBytes;
  const Bytes to = (offset + size) / kPageBytes * kPageBytes;
  if (from < to) ::madvise(data_ + from, to - from, MADV_DONTNEED);
}

}  // namespace thermocline
