// MappedFile: a file or DAX device in memory, through libpmem2. The only file
// of training/ that maps persistent memory.
//
// libpmem2 chooses the finest granularity that the file has: DAX with or
// without eADR, or pages. What is called durable is what the file system
// is known to make so (file_system.h): not tmpfs, nor overlayfs or NFS, and not
// a granularity that PMEM2_FORCE_GRANULARITY, which is for tests, claims for an
// ordinary file.
// How bytes get there is a matter of speed alone: flushing copies on DAX; on
// tmpfs stores past the caches; on a disk writes to the file, which the mapping
// shows at once, for a page that is stored to is a fault after each sync.
// Bad blocks, and a file that another program cuts short while it is mapped,
// end whoever touches them with SIGBUS; loadable() and storable() have the
// kernel look at persistent memory first (MADV_POPULATE_READ, Linux 5.14;
// before, all is said to be well), and at the size of other files; findable()
// whether the file still has a name. The lock that open() takes keeps out those
// that ask.
// Thread safety: as Medium. Ownership: owns the mapping and the descriptor.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "training/dax_device.h"
#include "training/medium.h"

struct pmem2_map;

namespace thermocline {

struct PmemLibrary;

class MappedFile final : public Medium {
 public:
  enum class Access { kRead, kWrite };

  /// Whether the path is a device, which is there from the start and has no
  /// files; false also when there is nothing.
  static bool is_device(const std::string& path);

  /// A file of `size` bytes, all on disk from the start (a full disk is an
  /// error now, not a SIGBUS later). `begin` is written at its beginning. It
  /// appears under its name when it is whole; a kill before leaves nothing, or
  /// where files cannot be without a name (NFS, 9p) NAME.XXXXXX. Errors:
  /// kInvalid when it exists, kIo when the disk is full, kNotFound,
  /// kPermission.
  static Status create(const std::string& path, Bytes size, ByteSpan begin);

  /// Errors: kNotFound, kPermission, kIo; kUnsupported where libpmem2 is not
  /// installed; kInvalid when it is no file, is empty, or (kWrite) another
  /// process has it open to write; of a device, those of dax_device().
  /// `library`: pmem_library(), or what a test puts in its place, and keeps.
  static Result<std::unique_ptr<MappedFile>> open(
      const std::string& path, Access access,
      const PmemLibrary* library = nullptr);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() override;

  ByteSpan bytes() const override { return {data_, size_}; }
  Status loadable(Bytes offset, Bytes size) const override;
  Status storable(Bytes offset, Bytes size) override;
  Status findable() const override;
  Durability durability() const override { return durability_; }
  void write(Bytes offset, ByteSpan bytes) override;
  void write_word(Bytes offset, std::uint64_t word) override;
  void fence() override;
  Status sync(Bytes offset, Bytes size) override;

  /// All of it, for data that is used in place; whoever stores here persists.
  /// Requires: opened to write.
  std::span<std::uint8_t> writable();
  /// Makes what was stored in place durable: flushes the range's cache lines
  /// where that is what it takes, as write() does of its own, and syncs.
  /// Errors: kIo.
  Status persist(Bytes offset, Bytes size);
  /// Tells the kernel that the range will not be read soon, so that its pages
  /// may go to disk (kPage; nothing elsewhere).
  void let_go(Bytes offset, Bytes size);

 private:
  MappedFile(std::string path, int descriptor, Access access)
      : path_(std::move(path)), descriptor_(descriptor), access_(access) {}
  Status map();
  Status look();
  Status within_file(Bytes offset, Bytes size) const;
  Status populate(Bytes offset, Bytes size, int advice) const;
  void write_through_file(Bytes offset, ByteSpan bytes);

  std::string path_;
  int descriptor_;
  Access access_;
  const PmemLibrary* pmem_ = nullptr;
  pmem2_map* map_ = nullptr;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  Durability durability_;
  std::optional<DaxDevice> device_;  // nothing: a file
  bool in_memory_ = false;           // kPage, and no disk is behind it
  bool through_file_ = false;        // kPage, on a disk
  std::mutex writing_;               // through the file
  std::atomic<Bytes> written_{0};    // so, ever
  std::atomic<int> failed_{0};       // errno of a write, until sync() tells
  // libpmem2's, as the granularity needs them.
  void* (*copy_)(void*, const void*, std::size_t, unsigned) = nullptr;
  void (*flush_)(const void*, std::size_t) = nullptr;
  void (*drain_)() = nullptr;
};

}  // namespace thermocline
