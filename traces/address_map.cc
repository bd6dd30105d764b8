#include "traces/address_map.h"

#include <algorithm>

#include "traces/result.h"

namespace thermocline {

AddressMap::AddressMap() : tables_(1) { tables_[0].fill(kNone); }

void AddressMap::insert(Address start, Address end, ObjectId id) {
  CHECK(id < kNone);
  assign(start, end, id);
}

void AddressMap::assign(Address start, Address end, ObjectId id) {
  end = std::min(end, Address{1} << kAddressBits);
  if (start < end) assign(0, 3, 0, start, end, id);
}

// Gives [start, end), which lies in the span of `table`, to `id`.
void AddressMap::assign(std::size_t table, int level, Address base,
                        Address start, Address end, ObjectId id) {
  const Address size = span(level);
  for (Address at = start & ~(size - 1); at < end; at += size) {
    const std::size_t slot = (at - base) / size;
    const Address from = std::max(start, at);
    const Address to = std::min(end, at + size);
    Entry entry = tables_[table][slot];
    if (from == at && to == at + size) {
      drop(entry, level);
      tables_[table][slot] = id;
    } else if (level == 0) {
      assign_in_page(tables_[table][slot],
                     static_cast<std::uint32_t>(from - at),
                     static_cast<std::uint32_t>(to - at), id);
    } else if (entry != id) {
      if (!is_table(entry)) {
        entry = split(entry);
        tables_[table][slot] = entry;
      }
      assign(entry & kNone, level - 1, at, from, to, id);
    }
  }
}

// A table all of whose entries are `id`.
AddressMap::Entry AddressMap::split(ObjectId id) {
  Entry number = 0;
  if (free_tables_.empty()) {
    number = static_cast<Entry>(tables_.size());
    tables_.emplace_back();
  } else {
    number = free_tables_.back();
    free_tables_.pop_back();
  }
  tables_[number].fill(id);
  return number | ~kNone;
}

void AddressMap::assign_in_page(Entry& entry, std::uint32_t start,
                                std::uint32_t end, ObjectId id) {
  if (entry == id) return;
  if (!is_table(entry)) {
    const ObjectId whole = entry;
    if (free_pages_.empty()) {
      entry = static_cast<Entry>(pages_.size()) | ~kNone;
      pages_.emplace_back();
    } else {
      entry = free_pages_.back() | ~kNone;
      free_pages_.pop_back();
    }
    auto& pieces = pages_[entry & kNone];
    pieces.clear();
    if (whole != kNone) pieces.push_back({0, kPage, whole});
  }
  auto& pieces = pages_[entry & kNone];
  // Cut what is there, then put the new piece in its place.
  for (std::size_t i = 0; i < pieces.size();) {
    Piece& piece = pieces[i];
    if (piece.end <= start || piece.start >= end) {
      ++i;
    } else if (piece.start < start && piece.end > end) {
      const Piece rest{end, piece.end, piece.id};
      piece.end = start;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
      break;
    } else if (piece.start < start) {
      piece.end = start;
      ++i;
    } else if (piece.end > end) {
      piece.start = end;
      break;
    } else {
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (id != kNone) {
    const auto after =
        std::find_if(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return piece.start >= end; });
    pieces.insert(after, {start, end, id});
  }
  if (pieces.empty()) {
    drop(entry, 0);
    entry = kNone;
  }
}

// Gives back what hangs below an entry of `level`.
void AddressMap::drop(Entry entry, int level) {
  if (!is_table(entry)) return;
  const Entry number = entry & kNone;
  if (level == 0) {
    free_pages_.push_back(number);
    return;
  }
  for (const Entry below : tables_[number]) drop(below, level - 1);
  free_tables_.push_back(number);
}

ObjectId AddressMap::in_page(Entry entry, Address address) const {
  const auto at = static_cast<std::uint32_t>(address & (kPage - 1));
  for (const Piece& piece : pages_[entry & kNone]) {
    if (at < piece.end) return at >= piece.start ? piece.id : kNone;
  }
  return kNone;
}

void AddressMap::each_in_page(Address address,
                              const std::function<void(ObjectId)>& use) const {
  if (address >> kAddressBits != 0) return;
  Entry entry = tables_[0][index(address, 3)];
  for (int level = 2; is_table(entry); --level) {
    if (level < 0) {
      for (const Piece& piece : pages_[entry & kNone]) use(piece.id);
      return;
    }
    entry = tables_[entry & kNone][index(address, level)];
  }
  if (entry != kNone) use(entry);
}

}  // namespace thermocline
