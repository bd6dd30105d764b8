// hash_join: a partitioned equi-join of two tables of tuples: partition after
// partition, one step builds its hash table and the next one probes it.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kPartitions = 4;

struct Tuple {
  std::uint64_t key = 0;
  std::uint64_t payload = 0;  // zero in an empty slot only
};

struct Answer {
  std::uint64_t matches = 0;
  std::uint64_t sum = 0;
  bool operator==(const Answer&) const = default;
};

struct Partition {
  std::vector<Tuple> build, probe, slots;
  Answer expected;  // of one probing
  std::uint64_t probings = 0;
};

class HashJoin final : public Workload {
 public:
  explicit HashJoin(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t tuples = settings_.bytes / kPartitions / sizeof(Tuple);
    std::size_t slots = 1;
    while (slots * 2 * 7 / 2 <= tuples)
      slots *= 2;  // half full; probe the most
    Random random(settings_.seed);
    for (std::size_t p = 0; p < kPartitions; ++p) {
      Partition& part = partitions_[p];
      const std::size_t count = slots / 2;
      part.build.reserve(count);
      for (std::size_t i = 0; i < count; ++i) {
        part.build.push_back({key(p, i), payload(p, i)});
      }
      // Three in four tuples have a partner, counted here and not by hashing.
      part.probe.reserve(tuples - slots - count);
      while (part.probe.size() < tuples - slots - count) {
        const bool match = random.below(4) != 0;
        const std::size_t i = random.skewed(count) + (match ? 0 : count);
        part.probe.push_back({key(p, i), random.next() | 1});
        if (!match) continue;
        ++part.expected.matches;
        part.expected.sum += payload(p, i) ^ part.probe.back().payload;
      }
      part.slots.resize(slots);
    }
  }

  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    for (std::size_t p = 0; p < kPartitions; ++p) {
      const Partition& part = partitions_[p];
      const std::string number = std::to_string(p);
      all.push_back(array_of("build" + number, part.build));
      all.push_back(array_of("probe" + number, part.probe));
      all.push_back(array_of("slots" + number, part.slots));
    }
    return all;
  }

  std::uint64_t step(std::uint64_t index) override {
    Partition& part = partitions_[index / 2 % kPartitions];
    if (index % 2 == 0) return build(part);
    const Answer before = answer_;
    probe(part);
    Digest digest;
    digest.add(answer_.matches - before.matches);
    digest.add(answer_.sum - before.sum);
    return digest.value();
  }

  Status check() override {
    Answer expected;
    for (const Partition& part : partitions_) {
      expected.matches += part.expected.matches * part.probings;
      expected.sum += part.expected.sum * part.probings;
    }
    if (answer_ == expected) return {};
    return corrupt("the join has " + std::to_string(answer_.matches) +
                   " matches, not " + std::to_string(expected.matches) +
                   ", or another sum");
  }

  void spoil() override { ++answer_.matches; }

 private:
  // Different for every tuple, since mix() is a bijection.
  std::uint64_t key(std::size_t partition, std::size_t index) const {
    return mix((settings_.seed << 40) + (index * kPartitions + partition));
  }
  std::uint64_t payload(std::size_t partition, std::size_t index) const {
    return mix(key(partition, index) + 1) | 1;
  }

  // Linear probing; a table is half full.
  std::uint64_t build(Partition& part) {
    std::fill(part.slots.begin(), part.slots.end(), Tuple{});
    const std::size_t mask = part.slots.size() - 1;
    std::uint64_t digest = 0;
    for (const Tuple& tuple : part.build) {
      std::size_t at = tuple.key & mask;
      while (part.slots[at].payload != 0) at = (at + 1) & mask;
      part.slots[at] = tuple;
      digest = digest * 31 + at;
    }
    return mix(digest);
  }

  void probe(Partition& part) {
    const std::size_t mask = part.slots.size() - 1;
    Answer answer;
    for (const Tuple& tuple : part.probe) {
      for (std::size_t at = tuple.key & mask; part.slots[at].payload != 0;
           at = (at + 1) & mask) {
        if (part.slots[at].key != tuple.key) continue;
        ++answer.matches;
        answer.sum += part.slots[at].payload ^ tuple.payload;
        break;
      }
    }
    answer_.matches += answer.matches;
    answer_.sum += answer.sum;
    ++part.probings;
  }

  WorkloadSettings settings_;
  std::array<Partition, kPartitions> partitions_;
  Answer answer_;
};

const RegisterWorkload kEntry{
    "hash_join",
    {"hash join: builds and probes hash tables of a partitioned join",
     "the hash table of one of 4 partitions (8 MiB), written at random, then "
     "read at random while tuples stream by; every 2 steps it is another",
     true, make_workload<HashJoin>}};

}  // namespace
}  // namespace thermocline
