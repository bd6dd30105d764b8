#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "traces/crc32c.h"
#include "traces/libtorch.h"
#include "training/row_store.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr Bytes kLine = 64;
constexpr Bytes kLargeRow = 65536;

// The first page of a file.
struct Beginning {
  char magic[16] = {'t', 'h', 'e', 'r', 'm', 'o', 'c', 'l',
                    'i', 'n', 'e', ' ', 'r', 'o', 'w', 's'};
  std::uint64_t version = 1;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::uint64_t crc = 0;  // CRC-32C of what precedes

  ByteSpan checked() const {
    return {reinterpret_cast<const std::uint8_t*>(this),
            offsetof(Beginning, crc)};
  }
};

Bytes stride_of(std::int64_t width) {
  const Bytes bytes = static_cast<Bytes>(width) * sizeof(float);
  const Bytes unit = bytes >= kLargeRow ? kPage : kLine;
  return (bytes + unit - 1) / unit * unit;
}

// Nothing when there is no such number of bytes.
std::optional<Bytes> bytes_of(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  if (rows <= 0 || width <= 0 || rows > kMost || width > kMost) return {};
  Bytes out = 0;
  if (__builtin_mul_overflow(stride_of(width), static_cast<Bytes>(rows), &out))
    return {};
  return out;
}

Error too_large(std::int64_t rows, std::int64_t width) {
  return invalid("there is no room anywhere for " + std::to_string(rows) +
                 " rows of " + std::to_string(width) +
                 " floats; ask for fewer, and one at least");
}

}  // namespace

RowStore::RowStore(std::int64_t rows, std::int64_t width)
    : rows_(rows), width_(width), stride_(stride_of(width)) {}

RowStore::RowStore(RowStore&& other) noexcept
    : rows_(other.rows_),
      width_(other.width_),
      stride_(other.stride_),
      file_(std::move(other.file_)),
      memory_(std::exchange(other.memory_, nullptr)),
      data_(other.data_) {}

RowStore::~RowStore() {
  if (memory_ != nullptr) ::munmap(memory_, offset(rows_));
}

Bytes RowStore::offset(std::int64_t row) const {
  return static_cast<Bytes>(row) * stride_;
}

Result<RowStore> RowStore::in_memory(std::int64_t rows, std::int64_t width) {
  CHECK(rows > 0 && width > 0);
  const auto bytes = bytes_of(rows, width);
  if (!bytes) return too_large(rows, width);
  RowStore out(rows, width);
  void* memory = ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return io("there is no memory for " + std::to_string(*bytes >> 20) +
              " MiB of rows; keep them in a file, on a larger tier");
  }
  out.memory_ = memory;
  out.data_ = static_cast<std::uint8_t*>(memory);
  return out;
}

Result<RowStore> RowStore::in_file(const std::string& path, std::int64_t rows,
                                   std::int64_t width) {
  CHECK(rows > 0 && width > 0);
  const auto bytes = bytes_of(rows, width);
  if (!bytes) return too_large(rows, width);
  Beginning begin;
  begin.rows = rows;
  begin.width = width;
  begin.crc = crc32c(begin.checked());
  auto ok = MappedFile::create(
      path, kPage + *bytes,
      {reinterpret_cast<const std::uint8_t*>(&begin), sizeof begin});
  if (!ok) return ok.error();
  return open(path);
}

Result<RowStore> RowStore::open(const std::string& path) {
  auto file = MappedFile::open(path, MappedFile::Access::kWrite);
  if (!file) return file.error();
  const Bytes there = (*file)->bytes().size();
  Beginning begin;
  const Beginning wanted;
  if (there < kPage)
    return corrupt(path + " is no file of rows; check its name");
  std::memcpy(&begin, (*file)->bytes().data(), sizeof begin);
  if (std::memcmp(begin.magic, wanted.magic, sizeof begin.magic) != 0) {
    return corrupt(path + " is no file of rows; check its name");
  }
  const auto bytes = bytes_of(begin.rows, begin.width);
  if (begin.crc != crc32c(begin.checked()) || begin.version != wanted.version ||
      !bytes) {
    return corrupt(
        path +
        ": its first page is damaged, or of another version; make it anew");
  }
  if (*bytes > there - kPage) {
    return corrupt(path + " is cut short: it has " + std::to_string(there) +
                   " bytes of " + std::to_string(kPage + *bytes) +
                   "; make it anew");
  }
  RowStore out(begin.rows, begin.width);
  out.file_ = *std::move(file);
  out.data_ = out.file_->writable().data() + kPage;
  return out;
}

torch::Tensor RowStore::row(std::int64_t row) const {
  CHECK(row >= 0 && row < rows_);
  return torch::from_blob(data_ + offset(row), {width_}, torch::kFloat32);
}

torch::Tensor RowStore::all() const {
  return torch::from_blob(
      data_, {rows_, width_},
      {static_cast<std::int64_t>(stride_ / sizeof(float)), 1}, torch::kFloat32);
}

torch::Tensor RowStore::gather(const torch::Tensor& rows) const {
  return all().index_select(0, rows);
}

Status RowStore::sync(std::int64_t first, std::int64_t count) {
  CHECK(first >= 0 && count >= 0 && count <= rows_ - first);
  if (!file_) return {};
  return file_->persist(kPage + offset(first), offset(count));
}

void RowStore::let_go(std::int64_t first, std::int64_t count) const {
  CHECK(first >= 0 && count >= 0 && count <= rows_ - first);
  if (file_) file_->let_go(kPage + offset(first), offset(count));
}

}  // namespace thermocline
