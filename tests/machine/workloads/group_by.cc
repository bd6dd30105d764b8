// group_by: a database groups the rows of a table by a key, and aggregates
// them: select key, count(*), sum(a), min(b), max(b) ... group by key order by
// sum(a) desc limit 10.
//
// As in HyPer (Leis et al. 2014) and DuckDB: each row goes to a small table of
// groups that stays in the cache. A group that another one takes the place of
// is spilled to its partition, by bits of its key's hash. Then the groups of
// each partition are merged in its own hash table, by linear probing. The table
// is stored by columns, one line of an order a row, as in TPC-H: orders are
// together; customers and products come in any order, the popular ones often.
// The key is another one after some steps; the measures are in each.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kKeys = 3;            // order, customer, product
constexpr std::size_t kMeasures = 4;        // price and the like
constexpr std::uint64_t kPhase = 4;         // steps until another key
constexpr std::uint64_t kMostLines = 7;     // in an order; four on average
constexpr std::size_t kCustomerRows = 16;   // to a customer, on average,
constexpr std::size_t kProductRows = 32;    // and to a product
constexpr std::size_t kCached = 8'192;      // groups in the small table
constexpr unsigned kPartitionBits = 6;      // of the hash
constexpr std::size_t kSlotRows = 2;        // to a slot: half full at most
constexpr std::size_t kSpilledRows = 2;     // to a place of a spilled group
constexpr std::uint64_t kHighest = 10'000;  // value of a measure
constexpr std::size_t kFirst = 10;          // groups of the answer
constexpr const char* kKeyNames[kKeys] = {"orders", "customers", "products"};
constexpr std::size_t kPartitions = std::size_t{1} << kPartitionBits;

struct Group {
  std::uint32_t key = 0;
  std::uint32_t count = 0;  // of rows; 0: no group
  std::int64_t sum = 0, least = 0, most = 0;

  void add(const Group& other) {
    if (count == 0) {
      *this = other;
      return;
    }
    count += other.count;
    sum += other.sum;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }

  friend bool operator==(const Group&, const Group&) = default;
};

class GroupBy final : public Workload {
 public:
  explicit GroupBy(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    constexpr std::size_t kRow =
        kKeys * sizeof(std::uint32_t) + kMeasures * sizeof(std::int64_t) +
        sizeof(Group) / kSlotRows + sizeof(Group) / kSpilledRows;
    rows_ = (settings_.bytes - kCached * sizeof(Group)) / kRow;
    room_ = rows_ / kSpilledRows / kPartitions;
    slots_each_ = rows_ / kSlotRows / kPartitions;
    make_table();
    cached_.resize(kCached);
    spilled_.resize(room_ * kPartitions);
    slots_.resize(slots_each_ * kPartitions);
  }

  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    for (std::size_t k = 0; k < kKeys; ++k) {
      all.push_back(array_of(kKeyNames[k], keys_[k]));
    }
    for (std::size_t m = 0; m < kMeasures; ++m) {
      all.push_back(array_of("measure" + std::to_string(m), measures_[m]));
    }
    all.push_back(array_of("cached", cached_));
    all.push_back(array_of("spilled", spilled_));
    all.push_back(array_of("slots", slots_));
    return all;
  }

  std::uint64_t step(std::uint64_t index) override {
    index_ = index;
    std::fill(slots_.begin(), slots_.end(), Group{});
    for (std::size_t row = 0; row < rows_; ++row) {
      const Group one = group_of(row);
      Group& place = cached_[mix(one.key) % kCached];
      if (place.count != 0 && place.key != one.key) {
        spill(place);
        place.count = 0;
      }
      place.add(one);
    }
    for (Group& one : cached_) {
      if (one.count != 0) spill(one);
      one.count = 0;
    }
    for (std::size_t p = 0; p < kPartitions; ++p) merge(p);
    return answer();
  }

  // The groups of the last step in a plain array, one for each key.
  Status check() override {
    std::vector<Group> expected;
    for (std::size_t row = 0; row < rows_; ++row) {
      const Group one = group_of(row);
      if (one.key >= expected.size()) expected.resize(one.key + 1);
      expected[one.key].add(one);
    }
    for (const Group& one : slots_) {
      if (one.count == 0) continue;
      if (one.key >= expected.size() || expected[one.key] != one) {
        return corrupt("the group of key " + std::to_string(one.key) +
                       " is another, or there twice");
      }
      expected[one.key] = {};
    }
    for (const Group& one : expected) {
      if (one.count == 0) continue;
      return corrupt("there is no group of key " + std::to_string(one.key));
    }
    return {};
  }

  void spoil() override { ++slots_[first_.front()].sum; }

 private:
  // Order by order; the lines of one have the same customer.
  void make_table() {
    for (auto& column : keys_) column.reserve(rows_);
    for (auto& column : measures_) column.reserve(rows_);
    Random random(settings_.seed);
    const auto any = [&](std::size_t count) {
      const double u = random.unit();
      return static_cast<std::uint32_t>(u * u * u * u *
                                        static_cast<double>(count));
    };
    for (std::uint32_t order = 0; keys_[0].size() < rows_; ++order) {
      const std::uint32_t customer = any(rows_ / kCustomerRows);
      for (auto line = random.below(kMostLines) + 1;
           line > 0 && keys_[0].size() < rows_; --line) {
        keys_[0].push_back(order);
        keys_[1].push_back(customer);
        keys_[2].push_back(any(rows_ / kProductRows));
        for (auto& column : measures_) {
          column.push_back(static_cast<std::int64_t>(random.below(kHighest)));
        }
      }
    }
  }

  // A row alone, by this step's key and measures.
  Group group_of(std::size_t row) const {
    const std::int64_t a = measures_[index_ % kMeasures][row];
    const std::int64_t b = measures_[(index_ + 1) % kMeasures][row];
    return {keys_[index_ / kPhase % kKeys][row], 1, a, b, b};
  }

  void spill(const Group& one) {
    const std::size_t partition = mix(one.key) >> (64 - kPartitionBits);
    if (filled_[partition] == room_) merge(partition);
    spilled_[partition * room_ + filled_[partition]++] = one;
  }

  void merge(std::size_t partition) {
    Group* const table = &slots_[partition * slots_each_];
    const Group* const spilled = &spilled_[partition * room_];
    for (std::size_t i = 0; i < filled_[partition]; ++i) {
      const std::uint64_t bits = mix(spilled[i].key) << kPartitionBits >> 32;
      std::size_t at = bits * slots_each_ >> 32;
      while (table[at].count != 0 && table[at].key != spilled[i].key) {
        if (++at == slots_each_) at = 0;
      }
      table[at].add(spilled[i]);
    }
    filled_[partition] = 0;
  }

  // The groups of the largest sums, the largest first.
  std::uint64_t answer() {
    std::uint64_t groups = 0;
    first_.clear();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].count == 0) continue;
      ++groups;
      if (first_.size() == kFirst) {
        if (slots_[i].sum <= slots_[first_.back()].sum) continue;
        first_.pop_back();
      }
      std::size_t at = first_.size();
      while (at > 0 && slots_[first_[at - 1]].sum < slots_[i].sum) --at;
      first_.insert(first_.begin() + static_cast<std::ptrdiff_t>(at), i);
    }
    Digest digest;
    digest.add(groups);
    for (const std::size_t i : first_) {
      digest.add(slots_[i].key);
      digest.add(slots_[i].sum);
      digest.add(slots_[i].most - slots_[i].least);
    }
    return digest.value();
  }

  WorkloadSettings settings_;
  std::array<std::vector<std::uint32_t>, kKeys> keys_;
  std::array<std::vector<std::int64_t>, kMeasures> measures_;
  std::vector<Group> cached_;   // by bits of the key's hash
  std::vector<Group> spilled_;  // partition by partition
  std::vector<Group> slots_;    // of each partition's hash table
  std::array<std::size_t, kPartitions> filled_{};
  std::vector<std::size_t> first_;  // slots of the answer
  std::size_t rows_ = 0, room_ = 0, slots_each_ = 0;
  std::uint64_t index_ = 0;
};

const RegisterWorkload kEntry{
    "group_by",
    {"database aggregation: rows grouped by a key in a small table, spilled to "
     "partitions and merged in hash tables",
     "a small table, and one of 64 partitions' after the other, at random; of "
     "the columns a key and two measures, end to end; another measure with "
     "every step, another key every 4 steps",
     true, make_workload<GroupBy>}};

}  // namespace
}  // namespace thermocline
