// AppendFile: a file that is only ever appended to.
//
// One append is one write(2) where the kernel takes it whole. A failed append
// (a full disk) is cut off again, so that the file still ends with whole
// blocks; the failure then sticks. Thread safety: none. Ownership: owns the
// descriptor.
#pragma once

#include <string>

#include "traces/result.h"
#include "traces/types.h"
#include "traces/varint.h"

namespace thermocline {

class AppendFile {
 public:
  /// A new file; one of that name is emptied only when `replace`. Errors:
  /// kInvalid when it exists or is a directory, kNotFound, kPermission, kIo.
  static Result<AppendFile> create(const std::string& path, bool replace);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  /// Errors: kIo naming the path; the first sticks.
  Status append(ByteSpan bytes);
  /// Waits until all is on stable storage, and closes.
  Status close();
  Bytes bytes() const { return bytes_; }

 private:
  AppendFile(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  Status fail(const char* doing, int number);

  int descriptor_;
  std::string path_;
  Bytes bytes_ = 0;
  std::string failure_;
};

}  // namespace thermocline
