// What a pool holds, and what is restored from it.
#include <algorithm>
#include <cstdio>

#include "training/checkpoint.h"

namespace thermocline {

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
    const bool right = found && found->damage.size() == damage_.size();
    if (!right && after != before) continue;
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
  std::vector<std::string> damage = damage_;
  damage.insert(damage.end(), found.damage.begin(), found.damage.end());
  if (found.newest) {
    whole_slot_ = found.newest->slot;
    Restored out = restored(*found.newest);
    out.damage = std::move(damage);
    return out;
  }
  if (found.damage.empty()) {
    return not_found("the pool has no checkpoint yet; save one first");
  }
  std::string message = "no checkpoint in the pool is whole";
  for (const auto& line : damage) message += "; " + line;
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
