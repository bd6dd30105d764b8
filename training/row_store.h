// RowStore: a matrix of floats that need not fit DRAM.
//
// For training data and model state larger than DRAM, after the dissertation of
// A. Wood (2024), which keeps both on persistent memory. Rows lie one after the
// other, each contiguous, in a file that is mapped: on a DAX file system loads
// and stores go to persistent memory itself, elsewhere through the page cache,
// whose pages leave DRAM when others need it. Store so that what is written
// together is a row: 4-byte writes a row's length apart are the worst that
// persistent memory can be given.
//
// The same interface over anonymous memory, for what does fit and to compare.
// A row of 64 KiB or more begins at a page, smaller ones at a cache line.
// Includes no torch. Thread safety: none. Ownership: owns the mapping; tensors
// that it hands out must not outlive it.
#pragma once

#include <memory>
#include <string>

#include "traces/result.h"
#include "traces/types.h"
#include "training/mapped_file.h"

namespace at {
class Tensor;
}

namespace thermocline {

class RowStore {
 public:
  /// Zeros, in anonymous memory. Errors: kIo when there is not enough.
  /// Requires, here and below: rows and width are above 0.
  static Result<RowStore> in_memory(std::int64_t rows, std::int64_t width);
  /// Zeros, in a new file on the slow or persistent tier. Errors: those of
  /// MappedFile::create().
  static Result<RowStore> in_file(const std::string& path, std::int64_t rows,
                                  std::int64_t width);
  /// A file that in_file() made, to read and write. Errors: those of
  /// MappedFile::open(); kCorrupt when it is no such file or was cut short.
  static Result<RowStore> open(const std::string& path);
  RowStore(RowStore&& other) noexcept;
  RowStore& operator=(RowStore&&) = delete;
  ~RowStore();

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }
  bool in_file() const { return file_ != nullptr; }

  /// One row, without a copy: (width). Requires: row < rows().
  at::Tensor row(std::int64_t row) const;
  /// All, without a copy: (rows, width). What is computed from it is read from
  /// where it lies; its pages come and go.
  at::Tensor all() const;
  /// Rows of these numbers, as a copy in DRAM: (count, width). A batch of a
  /// data set. Requires: `rows` is int64, each of it below rows().
  at::Tensor gather(const at::Tensor& rows) const;

  /// Rows were written: in a file they are durable on return. Errors: kIo.
  Status sync(std::int64_t first, std::int64_t count);
  /// Rows will not be needed soon: in a file, their pages may leave DRAM.
  void let_go(std::int64_t first, std::int64_t count) const;

 private:
  RowStore(std::int64_t rows, std::int64_t width);
  Bytes offset(std::int64_t row) const;

  std::int64_t rows_;
  std::int64_t width_;
  Bytes stride_;  // bytes from a row to the next
  std::unique_ptr<MappedFile> file_;
  void* memory_ = nullptr;  // an anonymous mapping; null with a file
  std::uint8_t* data_ = nullptr;
};

}  // namespace thermocline
