// file_system: whether what is synced to a file survives a power cut, as far
// as the number that statfs(2) gives for its file system tells.
//
// A list of those that are known to keep their word, and not of those that do
// not: what stands for other files (overlayfs, whose upper layer may lie in
// memory; FUSE; a server's, over NFS, SMB or 9p) syncs as well as what is
// behind it, which nobody here can see. Nor is the disk seen: one that is
// memory itself (brd, zram, a loop device over tmpfs) or that lies about its
// cache is taken at its word.
// The numbers are of linux/magic.h. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>

#include "training/medium.h"

namespace thermocline {

struct FileSystem {
  enum class Keeps {
    kDisk,     // its sync waits for a disk: ext2 to 4, XFS, Btrfs, F2FS
    kMemory,   // gone with the machine's power: tmpfs, ramfs, hugetlbfs
    kUnknown,  // all others
  };
  Keeps keeps = Keeps::kUnknown;
  std::string name;  // "overlayfs"; of one never heard of, its number: "0x1234"
};

FileSystem file_system(std::uint64_t magic);

/// Of a file there that is synced by `granularity`. Finer than a page is what
/// only a file system on persistent memory grants (MAP_SYNC): that is durable
/// wherever it is not in memory.
Durability durability_of(const FileSystem& system, Granularity granularity);

}  // namespace thermocline
