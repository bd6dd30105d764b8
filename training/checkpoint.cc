#include "training/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <random>

#include "training/mapped_file.h"
#include "training/slot_writer.h"

namespace thermocline {
namespace {

Nanos system_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::uint64_t new_pool_id() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Superblock new_superblock(const PoolOptions& pool) {
  Superblock out;
  out.id = new_pool_id();
  out.slots = static_cast<std::uint32_t>(pool.slots);
  out.slot_bytes = (pool.slot_bytes + kPoolPage - 1) / kPoolPage * kPoolPage;
  out.chunk_bytes = static_cast<Bytes>(pool.chunk_kib) * 1024;
  return out;
}

// Whether the copy of the superblock there is as it is to be.
bool is_superblock(const Medium& medium, Bytes offset,
                   const Superblock& block) {
  return medium.bytes().size() >= offset + kSuperblockBytes &&
         medium.loadable(offset, kSuperblockBytes) &&
         std::memcmp(medium.bytes().data() + offset,
                     encode_superblock(block).data(), kSuperblockBytes) == 0;
}

Status check(const PoolOptions& pool) {
  if (pool.slots < 2 || pool.slots > kMaxSlots) {
    return invalid("a pool has 2 to 64 slots, not " +
                   std::to_string(pool.slots));
  }
  if (pool.chunk_kib < 4 || pool.chunk_kib > 65536) {
    return invalid("a chunk has 4 to 65536 KiB, not " +
                   std::to_string(pool.chunk_kib));
  }
  if (pool.slot_bytes == 0 || pool.slot_bytes > Bytes{1} << 50) {
    // As the caller wrote it: -1, not 2^64 - 1.
    return invalid("slot_bytes is " +
                   std::to_string(static_cast<std::int64_t>(pool.slot_bytes)) +
                   "; CheckpointPool::slot_bytes_for() tells what a state "
                   "needs");
  }
  return {};
}

Result<std::unique_ptr<Medium>> medium_of(const std::string& path,
                                          MappedFile::Access access) {
  auto file = MappedFile::open(path, access);
  if (!file) return file.error();
  return std::unique_ptr<Medium>(*std::move(file));
}

// An error of opening it to write, which says so if it can be opened to read.
Error can_be_read(const Error& why, const std::string& path) {
  if (why.code != Error::Code::kPermission) return why;
  const auto pool = CheckpointPool::open_to_read(path);
  const auto is_there = [](const CheckpointPool::Listed& one) {
    return one.trouble.empty();
  };
  if (!pool || std::ranges::none_of(pool->list(), is_there)) return why;
  return permission(why.message +
                    "; checkpoints in it can still be read and restored");
}

}  // namespace

CheckpointPool::CheckpointPool(std::unique_ptr<Medium> medium,
                               const Superblock& block,
                               const SaveOptions& options, bool writable)
    : medium_(std::move(medium)),
      block_(block),
      options_(options),
      opened_by_(::getpid()) {
  if (!is_superblock(*medium_, 0, block_)) {
    damage_.push_back("the superblock is damaged; its second copy serves");
  }
  if (medium_->bytes().size() < block_.pool_bytes()) {
    damage_.push_back(
        "the pool was cut short: " + std::to_string(medium_->bytes().size()) +
        " bytes of " + std::to_string(block_.pool_bytes()));
  }
  if (!writable) return;
  write_superblocks();
  writer_ = std::make_unique<SlotWriter>(*medium_, block_, options_);
  last_sequence_ = highest_sequence(*medium_, block_);
}

CheckpointPool::CheckpointPool(CheckpointPool&&) noexcept = default;
CheckpointPool& CheckpointPool::operator=(CheckpointPool&&) noexcept = default;
CheckpointPool::~CheckpointPool() = default;

Result<CheckpointPool> CheckpointPool::create(const std::string& path,
                                              const PoolOptions& pool,
                                              const SaveOptions& options) {
  if (auto ok = check(pool); !ok) return ok.error();
  if (MappedFile::is_device(path)) {
    auto medium = medium_of(path, MappedFile::Access::kWrite);
    if (!medium) return medium.error();
    return create_over(*std::move(medium), pool, options).within(path);
  }
  const Superblock block = new_superblock(pool);
  if (auto ok = MappedFile::create(path, block.pool_bytes(),
                                   encode_superblock(block));
      !ok) {
    return ok.error();
  }
  return open(path, options);
}

Result<CheckpointPool> CheckpointPool::open(const std::string& path,
                                            const SaveOptions& options) {
  auto medium = medium_of(path, MappedFile::Access::kWrite);
  if (!medium) return can_be_read(medium.error(), path);
  if (MappedFile::is_device(path) && first_page_is_empty(**medium)) {
    return not_found(path + " has no pool yet; create one");
  }
  return take(*std::move(medium), options, true).within(path);
}

// What the memory held before says nothing once the superblock is there, which
// comes last.
Result<CheckpointPool> CheckpointPool::create_over(
    std::unique_ptr<Medium> medium, const PoolOptions& pool,
    const SaveOptions& options) {
  if (auto ok = check(pool); !ok) return ok.error();
  const Superblock block = new_superblock(pool);
  if (medium->bytes().size() < block.pool_bytes()) {
    return invalid("it has " + std::to_string(medium->bytes().size()) +
                   " bytes, the pool takes " +
                   std::to_string(block.pool_bytes()) +
                   "; ask for fewer or smaller slots");
  }
  if (auto ok = medium->storable(0, block.pool_bytes()); !ok) return ok.error();
  if (!first_page_is_empty(*medium)) {
    return invalid(
        "it holds something; open it if that is a pool, or empty it first "
        "(daxio --zero --output DEVICE)");
  }
  const std::array<std::uint8_t, kPoolPage> nothing = {};
  for (const std::uint32_t page : {0U, 1U}) {
    medium->write(head_offset(page), nothing);
  }
  for (std::uint32_t slot = 0; slot < block.slots; ++slot) {
    medium->write(block.slot_offset(slot), nothing);
  }
  medium->fence();
  if (auto ok = medium->sync(0, block.pool_bytes()); !ok) return ok.error();
  medium->write(0, encode_superblock(block));
  medium->fence();
  if (auto ok = medium->sync(0, kPoolPage); !ok) return ok.error();
  return take(std::move(medium), options, true);
}

Result<CheckpointPool> CheckpointPool::open_to_read(
    const std::string& path, const SaveOptions& options) {
  auto medium = medium_of(path, MappedFile::Access::kRead);
  if (!medium) return medium.error();
  return take(*std::move(medium), options, false).within(path);
}

Result<CheckpointPool> CheckpointPool::over(std::unique_ptr<Medium> medium,
                                            const SaveOptions& options) {
  return take(std::move(medium), options, true);
}

Result<CheckpointPool> CheckpointPool::take(std::unique_ptr<Medium> medium,
                                            const SaveOptions& options,
                                            bool writable) {
  if (options.threads < 1 || options.threads > 256) {
    return invalid("threads is " + std::to_string(options.threads) +
                   "; 1 to 256 can be had");
  }
  if (options.thread_kib < 0) {
    return invalid("thread_kib is " + std::to_string(options.thread_kib) +
                   "; 0 or more can be had");
  }
  const auto block = read_superblock(*medium);
  if (!block) return block.error();
  const Bytes size = medium->bytes().size();
  if (writable && size < block->pool_bytes()) {
    return corrupt("it was cut short: " + std::to_string(size) + " bytes of " +
                   std::to_string(block->pool_bytes()) +
                   "; export what is left of it (thermocline checkpoint verify "
                   "tells), and begin a new one");
  }
  return CheckpointPool(std::move(medium), *block, options, writable);
}

Bytes CheckpointPool::slot_bytes_for(std::span<const Piece> pieces,
                                     const PoolOptions& pool) {
  return SlotWriter::slot_bytes_for(pieces,
                                    static_cast<Bytes>(pool.chunk_kib) * 1024);
}

// Those that are not as they are to be; also the second one of a new pool,
// which is whole before it. One is right all the time, so a crash does no harm,
// and a copy that cannot be written is no reason not to save.
void CheckpointPool::write_superblocks() {
  const auto page = encode_superblock(block_);
  for (const Bytes offset : {Bytes{0}, kSecondSuperblock}) {
    if (is_superblock(*medium_, offset, block_)) continue;
    if (!medium_->storable(offset, kSuperblockBytes)) continue;
    medium_->write(offset, ByteSpan(page).first(kSuperblockBytes));
    medium_->fence();
    static_cast<void>(medium_->sync(offset, kSuperblockBytes));
  }
}

// Never the one that holds the newest whole checkpoint, nor one with a bad
// block. Of the rest the oldest. Nothing: there is none.
std::optional<std::uint32_t> CheckpointPool::choose_slot() {
  // It may have been cut off since it was found whole.
  if (whole_slot_ &&
      !medium_->loadable(block_.slot_offset(*whole_slot_ + 1) - kPoolPage,
                         kPoolPage)) {
    whole_slot_.reset();
  }
  if (!whole_slot_ && last_sequence_ > 0) {
    const Recovery found =
        recover(*medium_, block_, static_cast<unsigned>(options_.threads));
    if (found.newest) whole_slot_ = found.newest->slot;
  }
  for (;;) {
    std::optional<std::uint32_t> best;
    std::uint64_t best_age = ~std::uint64_t{0};
    for (std::uint32_t slot = 0; slot < block_.slots; ++slot) {
      if (whole_slot_ == slot || unusable_.contains(slot)) continue;
      const std::uint64_t age = sequence_in(*medium_, block_, slot);
      if (age >= best_age) continue;
      best = slot;
      best_age = age;
    }
    if (!best ||
        medium_->storable(block_.slot_offset(*best), block_.slot_bytes)) {
      return best;
    }
    unusable_.insert(*best);
  }
}

Status CheckpointPool::commit(const Head& head) {
  const auto newest = read_heads(*medium_, block_).newest();
  // Where the older one has a bad block, in place of the newest: a word is
  // stored at once.
  Bytes offset = head_offset(newest ? 1 - *newest : 0);
  if (!medium_->storable(offset, 8)) {
    offset = head_offset(newest ? *newest : 1);
    if (auto ok = medium_->storable(offset, 8); !ok) return ok;
  }
  medium_->write_word(offset, encode_head(block_.id, head));
  medium_->fence();
  if (auto ok = medium_->sync(offset, 8); !ok) return ok;
  return medium_->findable();
}

void CheckpointPool::share(std::shared_ptr<Bandwidth> bandwidth) {
  options_.bandwidth = bandwidth;
  if (writer_) writer_->share(std::move(bandwidth));
}

Result<Saved> CheckpointPool::save(std::span<const Piece> pieces,
                                   std::uint64_t step) {
  if (!writer_)
    return invalid(
        "the pool was opened to read; open it to write, to save into it");
  if (::getpid() != opened_by_) {
    return invalid(
        "the pool was opened by process " + std::to_string(opened_by_) +
        ", of which this one is a fork; save there, or into another pool");
  }
  if (last_sequence_ >= kMaxSequence) {
    return invalid(
        "the pool has taken all the checkpoints it can count; begin a new one");
  }
  const auto slot = choose_slot();
  if (!slot) {
    return corrupt(
        "no slot of the pool can be written beside its newest checkpoint: "
        "the memory has bad blocks, or the file was cut short; go on in a new "
        "pool");
  }
  SlotHeader header;
  header.sequence = ++last_sequence_;
  header.step = step;
  header.saved_at = options_.clock ? options_.clock() : system_now();
  const auto written = writer_->write(*slot, pieces, header);
  if (!written) return written.error();
  if (auto ok = commit({header.sequence, *slot}); !ok) return ok.error();
  whole_slot_ = *slot;
  return Saved{header.sequence, written->payload, written->stored};
}

}  // namespace thermocline
