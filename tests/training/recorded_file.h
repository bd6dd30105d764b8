// RecordedFile: a real file, mapped by MappedFile, whose writes are recorded on
// their way to the medium (persistence_domain.h).
//
// Recorded is what MappedFile asks of the outside. kLine, kByte: libpmem2's
// copy, flush and drain, in whose place stand this one's. kPage, on a disk:
// pwrite and fdatasync, which this program defines itself. A store that went by
// none of them (MappedFile stores words by itself) is noticed at the next call,
// and only what was flushed counts as flushed. So what is tried is the code
// that puts a job's bytes on persistent memory or a disk, all but the
// instructions of libpmem2 and the kernel's part.
// Thread safety: as Medium. One at a time.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "tests/training/persistence_domain.h"
#include "training/mapped_file.h"
#include "training/pmem_library.h"

namespace thermocline {

class RecordedFile {
 public:
  // What is put in for libpmem2, to see that it would be found.
  enum class Flushes { kAll, kNone };

  /// The file is to be there. Requires: no other recorded file is.
  RecordedFile(const std::string& path, Granularity granularity,
               Flushes flushes = Flushes::kAll);
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;
  ~RecordedFile();

  MappedFile& file() { return *file_; }
  PersistenceDomain& domain() { return *domain_; }

  // For the functions that take the place of others.
  struct Functions;

 private:
  void notice_stores();

  Granularity granularity_;
  Flushes flushes_;
  PmemLibrary library_;
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<PersistenceDomain> domain_;
  std::mutex mutex_;
};

}  // namespace thermocline
