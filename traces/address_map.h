// AddressMap: from an address to the object that lies there now.
//
// A table like the processor's: 512 entries a level, an entry of each level
// names one object for all of its addresses, or the table below. A page that
// several objects share (small tensors do) has a short list of pieces. So the
// cost of insert() and erase() is that of their edges, plus one entry for each
// aligned 4 KiB, 2 MiB, 1 GiB or 512 GiB in between.
//
// What is inserted takes the place of what was there, as mmap does.
//
// Thread safety: const members by any number of threads at once, otherwise
// none. Memory: 2 KiB for each 2 MiB of address space that is not all one
// object's, and 16 bytes for each piece of a shared page. Addresses have 48
// bits; beyond, nothing is stored or found.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "traces/types.h"

namespace thermocline {

class AddressMap {
 public:
  static constexpr ObjectId kNone = ~ObjectId{0} >> 1;  // and no id above it
  static constexpr int kAddressBits = 48;

  AddressMap();

  /// `id` lies in [start, end) from now on. Requires: id < kNone.
  void insert(Address start, Address end, ObjectId id);
  /// Nothing lies in [start, end) from now on.
  void erase(Address start, Address end) { assign(start, end, kNone); }

  /// The object at `address`, or kNone.
  ObjectId find(Address address) const {
    if (address >> kAddressBits != 0) return kNone;
    Entry entry = tables_[0][index(address, 3)];
    for (int level = 2; is_table(entry); --level) {
      if (level < 0) return in_page(entry, address);
      entry = tables_[entry & kNone][index(address, level)];
    }
    return entry;
  }

  /// Calls use(id) for each piece of an object in the page of `address`, in
  /// order of address. A page inside one object has one piece.
  void each_in_page(Address address,
                    const std::function<void(ObjectId)>& use) const;

 private:
  static constexpr int kPageBits = 12;
  static constexpr int kIndexBits = 9;
  static constexpr Address kPage = Address{1} << kPageBits;
  // An object's id, or, with the top bit, the number of a table; at the lowest
  // level, of a page's pieces.
  using Entry = std::uint32_t;
  using Table = std::array<Entry, 1 << kIndexBits>;
  struct Piece {
    std::uint32_t start;  // in the page
    std::uint32_t end;
    ObjectId id;
  };

  static constexpr bool is_table(Entry entry) { return entry > kNone; }
  static constexpr std::size_t index(Address address, int level) {
    return address >> (kPageBits + level * kIndexBits) & 0x1ff;
  }
  static constexpr Address span(int level) {
    return Address{1} << (kPageBits + level * kIndexBits);
  }
  ObjectId in_page(Entry entry, Address address) const;
  void assign(Address start, Address end, ObjectId id);
  void assign(std::size_t table, int level, Address base, Address start,
              Address end, ObjectId id);
  void assign_in_page(Entry& entry, std::uint32_t start, std::uint32_t end,
                      ObjectId id);
  void drop(Entry entry, int level);
  Entry split(ObjectId id);

  std::vector<Table> tables_;  // the first is the root
  std::vector<std::vector<Piece>> pages_;
  std::vector<Entry> free_tables_;
  std::vector<Entry> free_pages_;
};

}  // namespace thermocline
