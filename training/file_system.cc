#include "training/file_system.h"

#include <linux/magic.h>

#include <cstdio>

namespace thermocline {
namespace {

using Keeps = FileSystem::Keeps;

struct Known {
  std::uint64_t magic;
  Keeps keeps;
  const char* name;
};

// XFS's is in linux/magic.h since Linux 5.15 alone.
constexpr std::uint64_t kXfs = 0x58465342;

constexpr Known kKnown[] = {
    {EXT4_SUPER_MAGIC, Keeps::kDisk, "ext2 to ext4"},
    {kXfs, Keeps::kDisk, "XFS"},
    {BTRFS_SUPER_MAGIC, Keeps::kDisk, "Btrfs"},
    {F2FS_SUPER_MAGIC, Keeps::kDisk, "F2FS"},
    {TMPFS_MAGIC, Keeps::kMemory, "tmpfs"},
    {RAMFS_MAGIC, Keeps::kMemory, "ramfs"},
    {HUGETLBFS_MAGIC, Keeps::kMemory, "hugetlbfs"},
    {OVERLAYFS_SUPER_MAGIC, Keeps::kUnknown, "overlayfs"},
    {FUSE_SUPER_MAGIC, Keeps::kUnknown, "FUSE"},
    {NFS_SUPER_MAGIC, Keeps::kUnknown, "NFS"},
    {V9FS_MAGIC, Keeps::kUnknown, "9p"},
    {CIFS_SUPER_MAGIC, Keeps::kUnknown, "SMB"},
    {SMB2_SUPER_MAGIC, Keeps::kUnknown, "SMB"},
};

}  // namespace

FileSystem file_system(std::uint64_t magic) {
  for (const Known& one : kKnown) {
    if (one.magic == magic) return {one.keeps, one.name};
  }
  char number[32];
  std::snprintf(number, sizeof number, "0x%jx",
                static_cast<std::uintmax_t>(magic));
  return {Keeps::kUnknown, number};
}

Durability durability_of(const FileSystem& system, Granularity granularity) {
  Durability out{.granularity = granularity};
  if (system.keeps == Keeps::kMemory) {
    out.why = "it lies in memory (" + system.name + ")";
  } else if (system.keeps == Keeps::kDisk ||
             granularity != Granularity::kPage) {
    out.power_cut = true;
  } else {
    out.unknown = true;
    out.why = "what is behind its file system (" + system.name +
              ") cannot be seen; ext4, XFS, Btrfs and F2FS on a disk are";
  }
  return out;
}

}  // namespace thermocline
