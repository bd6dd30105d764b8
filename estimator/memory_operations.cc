#include "estimator/memory_operations.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>

#include "estimator/sweeps.h"

namespace thermocline {
namespace {

constexpr std::size_t kLanes = 32;
constexpr std::size_t kMatrixRow = 1024;  // floats; the vector stays in caches

// What is computed goes here, so that it is computed.
std::atomic<float> sink;

float sum_of(std::span<const float> from) {
  std::array<float, kLanes> sums{};
  for (std::size_t i = 0; i + kLanes <= from.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += from[i + lane];
    }
  }
  float out = 0;
  for (const float sum : sums) out += sum;
  return out;
}

Bytes fill(std::span<float> memory, Bytes, std::uint64_t turn) {
  std::ranges::fill(memory, static_cast<float>(turn));
  return memory.size_bytes();
}

Bytes fill_around(std::span<float> memory, Bytes, std::uint64_t turn) {
  const std::uint64_t bits =
      std::bit_cast<std::uint32_t>(static_cast<float>(turn));
  write_around_sweep(
      {reinterpret_cast<std::uint64_t*>(memory.data()), memory.size() / 2},
      bits << 32 | bits);
  return memory.size_bytes();
}

Bytes copy(std::span<float> memory, Bytes, std::uint64_t turn) {
  const std::size_t half = memory.size() / 2;
  float* a = memory.data() + (turn % 2 == 0 ? 0 : half);
  float* b = memory.data() + (turn % 2 == 0 ? half : 0);
  std::memcpy(a, b, half * sizeof(float));
  return 2 * half * sizeof(float);
}

// As an archive's writer does, torch::save's for one: for each tensor a header,
// its CRC-32, and a copy into the archive's buffer.
Bytes serialise(std::span<float> memory, Bytes, std::uint64_t turn) {
  constexpr std::size_t kTensor = std::size_t{64} << 10;  // bytes
  const std::size_t half = memory.size_bytes() / 2;
  const auto* from = reinterpret_cast<const unsigned char*>(memory.data());
  auto* to = reinterpret_cast<unsigned char*>(memory.data()) + half;
  struct Header {
    std::uint64_t name, bytes;
    std::uint32_t crc, padding;
  };
  std::size_t at = 0;
  for (std::size_t i = 0; i < half; i += kTensor) {
    const std::size_t size = std::min(kTensor, half - i);
    const auto crc = ::crc32(0, from + i, static_cast<unsigned>(size));
    const Header header{turn, size, static_cast<std::uint32_t>(crc), 0};
    // The last tensors' ends wrap, so that the headers have room.
    if (at + sizeof header + size > half) at = 0;
    std::memcpy(to + at, &header, sizeof header);
    std::memcpy(to + at + sizeof header, from + i,
                std::min(size, half - at - sizeof header));
    at += sizeof header + size;
  }
  return 2 * half;
}

Bytes axpy(std::span<float> memory, Bytes, std::uint64_t turn) {
  const std::size_t half = memory.size() / 2;
  float* y = memory.data();
  const float* x = memory.data() + half;
  const float a = 1e-3F * static_cast<float>(turn % 7);
  for (std::size_t i = 0; i < half; ++i) y[i] += a * x[i];
  return 3 * half * sizeof(float);
}

Bytes reduce(std::span<float> memory, Bytes, std::uint64_t) {
  sink = sum_of(memory);
  return memory.size_bytes();
}

Bytes gemv(std::span<float> memory, Bytes, std::uint64_t turn) {
  std::array<float, kMatrixRow> x;
  x.fill(static_cast<float>(turn % 5));
  float total = 0;
  for (std::size_t row = 0; row + kMatrixRow <= memory.size();
       row += kMatrixRow) {
    std::array<float, kLanes> sums{};
    for (std::size_t i = 0; i < kMatrixRow; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += memory[row + i + lane] * x[i + lane];
      }
    }
    for (const float sum : sums) total += sum;
  }
  sink = total;
  return memory.size_bytes();
}

// The next of a sequence of numbers that no prefetcher knows.
std::size_t next(std::uint64_t& state, std::size_t below) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<std::size_t>((state >> 33) % below);
}

Bytes gather(std::span<float> memory, Bytes unit, std::uint64_t turn) {
  const std::size_t row = unit / sizeof(float);
  const std::size_t rows = memory.size() / row;
  const std::size_t count = std::max<std::size_t>(rows / 16, 1);
  std::array<float, 1024> batch;
  std::uint64_t state = turn;
  float total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(batch.data(), memory.data() + next(state, rows) * row, unit);
    total += batch[i % row];
  }
  sink = total;
  return count * unit;
}

Bytes strided(std::span<float> memory, Bytes unit, std::uint64_t turn) {
  const std::size_t stride = unit / sizeof(float);
  const std::size_t column = turn % stride;
  for (std::size_t i = column; i < memory.size(); i += stride) {
    memory[i] = static_cast<float>(turn);
  }
  return memory.size() / stride * sizeof(float);
}

Bytes scatter(std::span<float> memory, Bytes unit, std::uint64_t turn) {
  const std::size_t row = unit / sizeof(float);
  const std::size_t rows = memory.size() / row;
  const std::size_t count = std::max<std::size_t>(rows / 16, 1);
  std::array<float, 1024> batch;
  batch.fill(static_cast<float>(turn));
  std::uint64_t state = turn;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(memory.data() + next(state, rows) * row, batch.data(), unit);
  }
  return count * unit;
}

// Past the caches no line is read first, and what the memory's own unit is
// shows: pieces that are smaller cost a whole one.
Bytes scatter_around(std::span<float> memory, Bytes unit, std::uint64_t turn) {
  const std::size_t row = unit / sizeof(std::uint64_t);
  const std::span words(reinterpret_cast<std::uint64_t*>(memory.data()),
                        memory.size() / 2);
  const std::size_t rows = words.size() / row;
  const std::size_t count = std::max<std::size_t>(rows / 16, 1);
  const std::uint64_t bits =
      std::bit_cast<std::uint32_t>(static_cast<float>(turn));
  std::uint64_t state = turn;
  for (std::size_t i = 0; i < count; ++i) {
    write_around(words.subspan(next(state, rows) * row, row),
                 bits << 32 | bits);
  }
  finish_writes_around();
  return count * unit;
}

constexpr MemoryOperation kOperations[] = {
    {"reduce", 0, false, "a sum over all, in order", reduce},
    {"gemv", 0, false, "matrix by vector, the matrix in order", gemv},
    {"fill", 0, true, "one value, ordinary stores", fill},
    {"fill around", 0, true, "one value, stores past the caches", fill_around},
    {"copy", 0, true, "one half to the other", copy},
    {"serialise", 0, true, "copied as records of an archive", serialise},
    {"axpy", 0, true, "y += a x, in place", axpy},
    {"gather", 64, false, "rows at random, as of an embedding", gather},
    {"gather", 256, false, "rows at random", gather},
    {"gather", 1024, false, "rows at random", gather},
    {"gather", 4096, false, "rows at random", gather},
    {"scatter", 64, true, "rows at random, written", scatter},
    {"scatter", 256, true, "rows at random, written", scatter},
    {"scatter", 1024, true, "rows at random, written", scatter},
    {"scatter", 4096, true, "rows at random, written", scatter},
    {"scatter around", 64, true, "the same, stores past the caches",
     scatter_around},
    {"scatter around", 256, true, "rows at random", scatter_around},
    {"scatter around", 1024, true, "rows at random", scatter_around},
    {"scatter around", 4096, true, "rows at random", scatter_around},
    {"strided", 256, true, "a column of a matrix by rows, written", strided},
    {"strided", 4096, true, "a column of a wider one, written", strided},
};

}  // namespace

std::string MemoryOperation::title() const {
  if (unit == 0) return name;
  return std::string(name) +
         (std::string_view(name) == "strided" ? " by " : " of ") +
         std::to_string(unit) + " B";
}

std::span<const MemoryOperation> memory_operations() { return kOperations; }

}  // namespace thermocline
