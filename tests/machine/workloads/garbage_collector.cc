// garbage_collector: a heap whose live objects are copied from one half to the
// other when there is no room (Cheney 1970), and the program that fills it.
//
// The program keeps a map as functional languages do: a balanced search tree,
// in which an update copies the nodes from the root to the key's, and hangs up
// a new value; what they replace becomes garbage. Each transaction looks up
// some keys, the popular ones more often, and updates one. The collector goes
// through the other half once: what it has copied there, it scans for objects
// that it must copy too, behind the last.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kMutating = 6;           // steps that fill the room,
constexpr std::size_t kRound = kMutating + 2;  // and two that collect
constexpr std::size_t kLookups = 12;           // in a transaction
constexpr std::size_t kLeastValue = 2, kMostValue = 12;  // words

// An object is a header and its fields, references first. A reference is the
// header's place in the half; the header says how many fields there are, and
// how many references, or, once the object was copied, where it is.
using Word = std::uint64_t;
constexpr Word kNone = 0;    // as a reference
constexpr Word kCopied = 1;  // in a header, with the place above

constexpr Word header(std::size_t fields, std::size_t references) {
  return fields << 8 | references << 1;
}
constexpr std::size_t fields_of(Word header) { return header >> 8; }
constexpr std::size_t references_of(Word header) { return header >> 1 & 0x7f; }

// Of a node, from its header on; of a value, the words are all fields.
enum : std::size_t { kLeft = 1, kRight, kValue, kKey, kNodeWords };
constexpr Word kNode = header(kNodeWords - 1, kValue);

// A value depends on its key and on the transaction that wrote it, from one.
std::size_t value_words(Word key, std::uint64_t writer) {
  return kLeastValue + mix(key ^ writer << 32) % (kMostValue - kLeastValue + 1);
}
Word value_word(Word key, std::uint64_t writer, std::size_t i) {
  return mix(key + (writer << 32)) + i;
}

// Room that a transaction may need, and more.
constexpr std::size_t kMargin = 64 * kNodeWords + kMostValue + 1;

class GarbageCollector final : public Workload {
 public:
  explicit GarbageCollector(const WorkloadSettings& s)
      : settings_(s), random_(s.seed, 1) {}

  void prepare() override {
    const std::size_t half = settings_.bytes / 2 / sizeof(Word);
    for (auto& space : spaces_) space.resize(half);
    // Half of it lives.
    const std::size_t words = kNodeWords + 1 + (kLeastValue + kMostValue) / 2;
    keys_ = half / 2 / words;
    root_ = build(0, keys_);
    live_ = free_;
  }

  std::vector<Array> arrays() const override {
    return {array_of("half0", spaces_[0]), array_of("half1", spaces_[1])};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::size_t place = index % kRound;
    if (place < kMutating) return mutate(place);
    if (place == kMutating) {
      flip();
      scan_until(live_ / 2);
    } else {
      finish();
    }
    Digest digest;
    digest.add(scan_);
    digest.add(free_);
    return digest.value();
  }

  // The same transactions on a plain array of who wrote what; the tree has each
  // key once, in order, with its last value; and after a collection the heap
  // has nothing but the tree.
  Status check() override {
    Random random(settings_.seed, 1);
    std::vector<std::uint64_t> writers(keys_);
    std::uint64_t expected = 0;
    for (std::uint64_t one = 1; one <= transactions_; ++one) {
      for (std::size_t i = 0; i < kLookups; ++i) {
        const Word key = any_key(random);
        const std::uint64_t writer = writers[key];
        for (std::size_t w = 0; w < value_words(key, writer); ++w) {
          expected = expected * 31 + value_word(key, writer, w);
        }
      }
      writers[any_key(random)] = one;
    }
    if (sum_ != expected) return corrupt("lookups found other values");
    finish();
    flip();
    finish();
    Word next = 0;
    std::size_t words = 1;
    if (!walk(root_, writers, next, words)) {
      return corrupt("key " + std::to_string(next) +
                     " is not in its place or has another value");
    }
    if (next != keys_) return corrupt("the tree has lost keys");
    if (words == free_) return {};
    return corrupt("the heap has " + std::to_string(free_) +
                   " words after a collection, the tree " +
                   std::to_string(words));
  }

  void spoil() override {
    finish();
    ++heap()[find(keys_ / 2) + kLeastValue];
  }

 private:
  std::vector<Word>& heap() { return spaces_[current_]; }

  // Popular keys lie anywhere in the tree.
  Word any_key(Random& random) const {
    return mix(random.skewed(keys_) + 1) % keys_;
  }

  // Its fields are the caller's to fill.
  std::size_t allocate(Word header) {
    const std::size_t at = free_;
    heap()[at] = header;
    free_ += 1 + fields_of(header);
    return at;
  }

  std::size_t make_value(Word key, std::uint64_t writer) {
    const std::size_t words = value_words(key, writer);
    const std::size_t at = allocate(header(words, 0));
    for (std::size_t i = 0; i < words; ++i) {
      heap()[at + 1 + i] = value_word(key, writer, i);
    }
    return at;
  }

  // The tree of the keys from `begin` to before `end`.
  std::size_t build(Word begin, Word end) {
    if (begin == end) return kNone;
    const Word key = begin + (end - begin) / 2;
    const std::size_t at = allocate(kNode);
    heap()[at + kKey] = key;
    heap()[at + kValue] = make_value(key, 0);
    heap()[at + kLeft] = build(begin, key);
    heap()[at + kRight] = build(key + 1, end);
    return at;
  }

  static std::size_t side(const Word* node, Word key) {
    return key < node[kKey] ? kLeft : kRight;
  }

  // Its value.
  std::size_t find(Word key) {
    const Word* node = &heap()[root_];
    while (node[kKey] != key) node = &heap()[node[side(node, key)]];
    return node[kValue];
  }

  void update(Word key, std::size_t value) {
    Word* from = &root_;  // the reference that is to lead to the copy
    for (;;) {
      const Word* const old = &heap()[*from];
      *from = allocate(kNode);
      Word* const node = &heap()[*from];
      std::copy(old + 1, old + kNodeWords, node + 1);
      if (node[kKey] == key) {
        node[kValue] = value;
        return;
      }
      from = &node[side(node, key)];
    }
  }

  // Transactions until the step's part of the room is used.
  std::uint64_t mutate(std::size_t place) {
    const std::size_t room = heap().size() - kMargin - live_;
    const std::size_t limit = live_ + room * (place + 1) / kMutating;
    while (free_ < limit) {
      for (std::size_t i = 0; i < kLookups; ++i) {
        const Word* const value = &heap()[find(any_key(random_))];
        for (std::size_t w = 1; w <= fields_of(*value); ++w) {
          sum_ = sum_ * 31 + value[w];
        }
      }
      const Word key = any_key(random_);
      update(key, make_value(key, ++transactions_));
    }
    return mix(sum_);
  }

  // Begins a collection: the root lives.
  void flip() {
    current_ = 1 - current_;
    scan_ = free_ = 1;
    root_ = copy(root_);
  }

  // Returns where the object of the other half is in this one.
  Word copy(Word reference) {
    if (reference == kNone) return kNone;
    Word* const old = &spaces_[1 - current_][reference];
    if ((*old & kCopied) != 0) return *old >> 1;
    const std::size_t at = allocate(*old);
    std::copy(old + 1, old + 1 + fields_of(*old), &heap()[at + 1]);
    *old = at << 1 | kCopied;
    return at;
  }

  // Until all live objects are copied, or so many words.
  void scan_until(std::size_t copied) {
    while (scan_ < free_ && free_ < copied) {
      Word* const object = &heap()[scan_];
      for (std::size_t i = 1; i <= references_of(*object); ++i) {
        object[i] = copy(object[i]);
      }
      scan_ += 1 + fields_of(*object);
    }
  }

  // Ends the collection, if there is one.
  void finish() {
    if (scan_ == kNone) return;
    scan_until(heap().size());
    scan_ = kNone;
    live_ = free_;
  }

  // The tree below has the keys from `next` on, and so many words. False: it
  // has not, and `next` is not where it should be.
  bool walk(std::size_t at, const std::vector<std::uint64_t>& writers,
            Word& next, std::size_t& words) {
    if (at == kNone) return true;
    const Word* const node = &heap()[at];
    if (!walk(node[kLeft], writers, next, words)) return false;
    const Word key = node[kKey];
    if (key != next || key >= keys_) return false;
    const Word* const value = &heap()[node[kValue]];
    if (fields_of(*value) != value_words(key, writers[key])) return false;
    for (std::size_t i = 0; i < fields_of(*value); ++i) {
      if (value[1 + i] != value_word(key, writers[key], i)) return false;
    }
    words += kNodeWords + 1 + fields_of(*value);
    ++next;
    return walk(node[kRight], writers, next, words);
  }

  WorkloadSettings settings_;
  Random random_;
  std::array<std::vector<Word>, 2> spaces_;
  std::size_t current_ = 0;   // half that is allocated in
  std::size_t free_ = 1;      // its first word not used; word 0 is none
  std::size_t scan_ = kNone;  // first object not scanned, while collecting
  std::size_t live_ = 0;      // words used after the last collection
  Word root_ = kNone;
  std::size_t keys_ = 0;
  std::uint64_t transactions_ = 0;
  std::uint64_t sum_ = 0;  // of what lookups found
};

const RegisterWorkload kEntry{
    "garbage_collector",
    {"garbage collector: a copying one, two halves, under a search tree whose "
     "updates copy the path to the root",
     "one of 2 halves, the tree's upper levels and popular paths most, and the "
     "room behind, end to end, for 6 steps; then 2 that copy what lives into "
     "the other half, end to end, and go on there",
     true, make_workload<GarbageCollector>}};

}  // namespace
}  // namespace thermocline
