#include "training/checkpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
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

bool first_page_is_empty(const Medium& medium) {
  return std::ranges::all_of(
      medium.bytes().first(std::min<Bytes>(kPoolPage, medium.bytes().size())),
      [](std::uint8_t byte) { return byte == 0; });
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
    return invalid("slot_bytes is " + std::to_string(pool.slot_bytes) +
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

}  // namespace

void tell_stderr(const std::string& line) {
  std::fprintf(stderr, "thermocline: %s\n", line.c_str());
}

std::string Restored::passed_over() const {
  if (damage.empty()) return "";
  std::string out = "damage in the pool was passed over";
  for (const auto& line : damage) out += "; " + line;
  return out + "; step " + std::to_string(step) +
         " is the newest that is whole; thermocline checkpoint verify tells "
         "more";
}

const Piece* Restored::find(const std::string& name) const {
  const auto at = std::ranges::find(pieces, name, &Piece::name);
  return at == pieces.end() ? nullptr : &*at;
}

CheckpointPool::CheckpointPool(std::unique_ptr<Medium> medium,
                               const Superblock& block,
                               const SaveOptions& options, bool writable)
    : medium_(std::move(medium)), block_(block), options_(options) {
  if (!writable) return;
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
  if (!medium) return medium.error();
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
  const auto block = decode_superblock(medium->bytes());
  if (!block) return block.error();
  return CheckpointPool(std::move(medium), *block, options, writable);
}

Bytes CheckpointPool::slot_bytes_for(std::span<const Piece> pieces,
                                     const PoolOptions& pool) {
  return SlotWriter::slot_bytes_for(pieces,
                                    static_cast<Bytes>(pool.chunk_kib) * 1024);
}

// Never the one that holds the newest whole checkpoint. Of the rest the oldest.
std::uint32_t CheckpointPool::choose_slot() {
  if (!whole_slot_ && last_sequence_ > 0) {
    const Recovery found =
        recover(*medium_, block_, static_cast<unsigned>(options_.threads));
    if (found.newest) whole_slot_ = found.newest->slot;
  }
  std::uint32_t best = 0;
  std::uint64_t best_age = ~std::uint64_t{0};
  for (std::uint32_t slot = 0; slot < block_.slots; ++slot) {
    if (whole_slot_ == slot) continue;
    const auto header = decode_slot_header(
        block_.id,
        medium_->bytes().subspan(block_.slot_offset(slot), block_.slot_bytes));
    const std::uint64_t age = header ? header->sequence : 0;
    if (age >= best_age) continue;
    best = slot;
    best_age = age;
  }
  return best;
}

Status CheckpointPool::commit(const Head& head) {
  const auto newest = read_heads(*medium_, block_).newest();
  const Bytes offset = head_offset(newest ? 1 - *newest : 0);
  medium_->write_word(offset, encode_head(block_.id, head));
  medium_->fence();
  return medium_->sync(offset, 8);
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
  if (last_sequence_ >= kMaxSequence) {
    return invalid(
        "the pool has taken all the checkpoints it can count; begin a new one");
  }
  const std::uint32_t slot = choose_slot();
  SlotHeader header;
  header.sequence = ++last_sequence_;
  header.step = step;
  header.saved_at = options_.clock ? options_.clock() : system_now();
  const auto written = writer_->write(slot, pieces, header);
  if (!written) return written.error();
  if (auto ok = commit({header.sequence, slot}); !ok) return ok.error();
  whole_slot_ = slot;
  return Saved{header.sequence, written->payload, written->stored};
}

Restored CheckpointPool::restored(const SlotContents& contents) const {
  Restored out;
  out.slot = contents.slot;
  out.sequence = contents.header.sequence;
  out.step = contents.header.step;
  const Bytes base = block_.slot_offset(contents.slot);
  for (const StoredPiece& piece : contents.pieces) {
    out.pieces.push_back(
        {piece.name, piece.type, piece.shape,
         medium_->bytes().subspan(base + piece.offset, piece.bytes), 0});
  }
  return out;
}

Result<Restored> CheckpointPool::restore() {
  return taken(
      recover(*medium_, block_, static_cast<unsigned>(options_.threads)));
}

Result<Restored> CheckpointPool::restore_into(const Into& into) {
  const auto threads = static_cast<unsigned>(options_.threads);
  std::optional<Error> refusal;
  const auto refuse = [&](const Error& why) {
    refusal = why;
    return Status();  // no reason to try another slot
  };
  const auto take = [&](const SlotContents& contents) -> Status {
    const Restored view = restored(contents);
    const auto places = into.places(view);
    if (!places) return refuse(places.error());
    if (auto ok = verify_payload(*medium_, block_, contents, threads, *places);
        !ok) {
      return ok;
    }
    if (into.before_copy) {
      if (auto ok = into.before_copy(view); !ok) return refuse(ok.error());
    }
    return copy_payload(*medium_, block_, contents, threads, *places);
  };
  const Recovery found = recover(*medium_, block_, take);
  if (refusal) return *refusal;
  return taken(found);
}

// A slot is written again once all others are newer. So what was found is as it
// was saved while no more came than that; and what looks damaged may be a save.
Result<CheckpointPool::Copied> CheckpointPool::copy() {
  const auto newest = [&] {
    const Heads heads = read_heads(*medium_, block_);
    const auto page = heads.newest();
    return page ? heads.page[*page]->sequence : 0;
  };
  constexpr int kTimes = 10;
  for (int time = 0; time < kTimes; ++time) {
    Copied out;
    Into into;
    into.places = [&](const Restored& view) {
      out.bytes.clear();
      Places places;
      for (const Piece& piece : view.pieces) {
        out.bytes.emplace_back(piece.bytes.size());
        places.push_back(out.bytes.back().data());
      }
      return places;
    };
    const auto before = newest();
    auto found = restore_into(into);
    const auto after = newest();
    if ((!found || !found->damage.empty()) && after != before) continue;
    if (!found) return found.error();
    if (after > found->sequence + block_.slots - 2) continue;
    out.restored = *std::move(found);
    for (std::size_t i = 0; i < out.bytes.size(); ++i) {
      out.restored.pieces[i].bytes = out.bytes[i];
    }
    return out;
  }
  return io("a job saves into the pool faster than it can be read, " +
            std::to_string(kTimes) +
            " times; try again, or make a pool with more slots");
}

Result<Restored> CheckpointPool::taken(const Recovery& found) {
  if (found.newest) {
    whole_slot_ = found.newest->slot;
    Restored out = restored(*found.newest);
    out.damage = found.damage;
    return out;
  }
  if (found.damage.empty()) {
    return not_found("the pool has no checkpoint yet; save one first");
  }
  std::string message = "no checkpoint in the pool is whole";
  for (const auto& line : found.damage) message += "; " + line;
  return corrupt(message + "; go on from a copy of the pool, or begin anew");
}

std::vector<CheckpointPool::Listed> CheckpointPool::list() const {
  const Heads heads = read_heads(*medium_, block_);
  const auto newest = heads.newest();
  std::vector<Listed> out;
  for (std::uint32_t slot = 0; slot < block_.slots; ++slot) {
    auto contents = read_slot(*medium_, block_, slot);
    if (!contents && contents.error().code == Error::Code::kNotFound) continue;
    Listed one;
    one.slot = slot;
    if (!contents) one.trouble = contents.error().message;
    if (contents) one.contents = *std::move(contents);
    const auto sequence = one.contents.header.sequence;
    for (std::uint32_t page = 0; page < 2; ++page) {
      const auto& head = heads.page[page];
      if (!head || head->slot != slot || head->sequence != sequence) continue;
      one.newest = newest == page;
    }
    // Saves come one after the other: all before the newest were committed.
    one.committed =
        newest && sequence > 0 && sequence <= heads.page[*newest]->sequence;
    out.push_back(std::move(one));
  }
  std::ranges::sort(out, std::ranges::greater(), [](const Listed& one) {
    return one.contents.header.sequence;
  });
  return out;
}

Status CheckpointPool::verify(std::uint32_t slot) const {
  const auto back = restore_slot(slot);
  if (!back) return back.error();
  return {};
}

Result<Restored> CheckpointPool::restore_slot(std::uint32_t slot) const {
  if (slot >= block_.slots) {
    return not_found("the pool has slots 0 to " +
                     std::to_string(block_.slots - 1) + ", not " +
                     std::to_string(slot) +
                     "; thermocline checkpoint list shows what they hold");
  }
  const auto contents = read_slot(*medium_, block_, slot);
  if (!contents) return contents.error().within("slot " + std::to_string(slot));
  if (auto ok = verify_payload(*medium_, block_, *contents,
                               static_cast<unsigned>(options_.threads));
      !ok) {
    return ok.error().within("slot " + std::to_string(slot));
  }
  return restored(*contents);
}

}  // namespace thermocline
