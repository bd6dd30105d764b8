// lsm_tree: a key-value store as a log-structured merge tree.
//
// Puts are collected, sorted and kept as a small sorted run with a Bloom
// filter; gets ask the filters, the newest run's first, and search the run that
// may have the key; when there are kRuns small runs, they are merged into the
// large one, out of place. A round is kRuns steps of puts and gets and two of
// merging. The large run has no filter, which would hardly ever say no; this is
// usual for the last level. Keys are hashed: neighbours are not asked together.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kRuns = 6;
constexpr std::size_t kRound = kRuns + 2;
constexpr std::size_t kShare = 16;       // keys in all, to one in a small run
constexpr std::uint64_t kGets = 20'000;  // in a step of puts
constexpr std::size_t kProbes = 5;       // of a Bloom filter,
constexpr std::size_t kFilterBits = 10;  // per key: 1 % false answers
constexpr std::size_t kFence = 64;       // entries between two fences

struct Entry {
  std::uint64_t key = 0;
  std::uint64_t value = 0;
};

bool before(const Entry& a, const Entry& b) { return a.key < b.key; }

// Sorted by key, each key once.
struct Run {
  std::vector<Entry> entries;
  std::span<std::uint64_t> filter;  // empty: may have any key
  std::span<std::uint64_t> fences;  // every kFence'th key

  std::size_t bit(std::uint64_t key, std::size_t probe) const {
    const std::uint64_t hash = mix(key + probe);
    return (hash >> 32) * (filter.size() * 64) >> 32;
  }

  void note(std::size_t at) {
    const std::uint64_t key = entries[at].key;
    if (at % kFence == 0) fences[at / kFence] = key;
    if (filter.empty()) return;
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      const std::size_t b = bit(key, probe);
      filter[b / 64] |= std::uint64_t{1} << b % 64;
    }
  }

  bool may_have(std::uint64_t key) const {
    if (filter.empty()) return true;
    std::uint64_t all = 1;  // the probes do not wait for each other
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      const std::size_t b = bit(key, probe);
      all &= filter[b / 64] >> b % 64;
    }
    return all != 0;
  }

  std::optional<std::uint64_t> find(std::uint64_t key) const {
    if (!may_have(key)) return {};
    const auto fence = std::upper_bound(fences.begin(), fences.end(), key);
    if (fence == fences.begin()) return {};
    const auto block =
        (fence - fences.begin() - 1) * static_cast<std::ptrdiff_t>(kFence);
    const auto begin = entries.begin() + block;
    const auto end = entries.end() - begin > std::ptrdiff_t{kFence}
                         ? begin + kFence
                         : entries.end();
    const auto found = std::lower_bound(begin, end, Entry{key, 0}, before);
    if (found == end || found->key != key) return {};
    return found->value;
  }
};

class LsmTree final : public Workload {
 public:
  explicit LsmTree(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    // Two large runs, the small ones, and what a step puts.
    puts_ = settings_.bytes / sizeof(Entry) / (2 * kShare + kRuns + 1);
    keys_ = puts_ * kShare;
    for (Run& run : large_) run.entries.resize(keys_);
    for (Run& run : small_) run.entries.resize(puts_);
    index_runs();
    fresh_.resize(puts_);
    for (std::size_t i = 0; i < keys_; ++i) {
      large_[0].entries[i] = {key(i), first_value(i)};
    }
    std::sort(large_[0].entries.begin(), large_[0].entries.end(), before);
    for (std::size_t i = 0; i < keys_; ++i) large_[0].note(i);
  }

  std::vector<Array> arrays() const override {
    std::vector<Array> all;
    for (std::size_t i = 0; i < large_.size(); ++i) {
      all.push_back(array_of("large" + std::to_string(i), large_[i].entries));
    }
    for (std::size_t i = 0; i < kRuns; ++i) {
      all.push_back(array_of("small" + std::to_string(i), small_[i].entries));
    }
    all.push_back(array_of("index", index_));
    all.push_back(array_of("fresh", fresh_));
    return all;
  }

  std::uint64_t step(std::uint64_t index) override {
    ++steps_;
    const std::size_t place = index % kRound;
    if (place >= kRuns) return merge(place == kRuns);
    flush(index);
    std::uint64_t sum = 0;
    each_get(index, [&](std::size_t id) {
      const auto value = get(key(id));
      sum = sum * 31 + value.value_or(1);
    });
    sum_ += sum;
    return mix(sum);
  }

  // The same puts and gets on a plain array, and the tree's last state by it.
  Status check() override {
    std::vector<std::uint64_t> values(keys_);
    for (std::size_t id = 0; id < keys_; ++id) values[id] = first_value(id);
    std::uint64_t expected = 0;
    for (std::uint64_t index = 0; index < steps_; ++index) {
      if (index % kRound >= kRuns) continue;
      each_put(index, [&](std::size_t i, std::size_t id) {
        values[id] = value_of(index, i);
      });
      std::uint64_t sum = 0;
      each_get(index, [&](std::size_t id) {
        sum = sum * 31 + (id < keys_ ? values[id] : 1);
      });
      expected += sum;
    }
    if (sum_ != expected) return corrupt("gets found other values than put");
    if (steps_ % kRound > kRuns) merge(false);
    for (std::size_t id = 0; id < keys_; ++id) {
      if (get(key(id)) == values[id]) continue;
      return corrupt("key " + std::to_string(id) + " has not its last value");
    }
    return {};
  }

  void spoil() override {
    for (Entry& entry : large_[current_].entries) {
      if (get(entry.key) != entry.value) continue;  // has a newer value
      entry.value ^= 1;
      return;
    }
  }

 private:
  // All filters and fences are one array: small ones would lie on the heap or
  // not, as malloc likes, and addresses would differ between runs.
  void index_runs() {
    const auto fences = [](std::size_t size) {
      return (size + kFence - 1) / kFence;
    };
    const std::size_t filter = puts_ * kFilterBits / 64 + 1;
    index_.resize(2 * fences(keys_) + kRuns * (filter + fences(puts_)));
    std::span<std::uint64_t> rest(index_);
    const auto cut = [&rest](std::size_t size) {
      const auto part = rest.first(size);
      rest = rest.subspan(size);
      return part;
    };
    for (Run& run : small_) run.filter = cut(filter);
    for (Run& run : small_) run.fences = cut(fences(puts_));
    for (Run& run : large_) run.fences = cut(fences(keys_));
  }

  // Different for every number, since mix() is a bijection.
  std::uint64_t key(std::size_t id) const {
    return mix((settings_.seed << 40) + id);
  }
  static std::uint64_t first_value(std::size_t id) { return mix(id) | 2; }
  static std::uint64_t value_of(std::uint64_t index, std::size_t i) {
    return mix(index << 32 | i) | 2;
  }

  // Each key at most once in a step: so many strides are less than all keys.
  template <typename Visit>
  void each_put(std::uint64_t index, const Visit& visit) const {
    Random random(settings_.seed + 1, index);
    const std::size_t begin = random.below(keys_);
    for (std::size_t i = 0; i < puts_; ++i) {
      visit(i, (begin + i * (kShare - 1)) % keys_);
    }
  }

  // One in eight asks for a key that there is not; the others mostly for few.
  template <typename Visit>
  void each_get(std::uint64_t index, const Visit& visit) const {
    Random random(settings_.seed + 2, index);
    for (std::uint64_t i = 0; i < kGets; ++i) {
      const bool absent = random.below(8) == 0;
      visit(random.skewed(keys_) + (absent ? keys_ : 0));
    }
  }

  void flush(std::uint64_t index) {
    each_put(index, [&](std::size_t i, std::size_t id) {
      fresh_[i] = {key(id), value_of(index, i)};
    });
    std::sort(fresh_.begin(), fresh_.end(), before);
    Run& run = small_[used_++];
    std::fill(run.filter.begin(), run.filter.end(), 0);
    for (std::size_t i = 0; i < puts_; ++i) {
      run.entries[i] = fresh_[i];
      run.note(i);
    }
  }

  std::optional<std::uint64_t> get(std::uint64_t key) const {
    for (std::size_t run = used_; run-- > 0;) {
      if (const auto value = small_[run].find(key)) return value;
    }
    return large_[current_].find(key);
  }

  // Half of a merge. Every key is in the large run already, so that the result
  // is as long; of equal keys the newest run's value stays.
  std::uint64_t merge(bool first) {
    const Run& old = large_[current_];
    Run& merged = large_[1 - current_];
    if (first) next_.fill(0);
    const std::size_t begin = first ? 0 : keys_ / 2;
    const std::size_t end = first ? keys_ / 2 : keys_;
    std::uint64_t digest = 0;
    std::uint64_t least = least_head();
    for (std::size_t i = begin; i < end; ++i) {
      Entry entry = old.entries[i];
      if (entry.key == least) {
        entry.value = take(least);
        least = least_head();
      }
      merged.entries[i] = entry;
      merged.note(i);
      digest = digest * 31 + entry.value;
    }
    if (!first) {
      current_ = 1 - current_;
      used_ = 0;
    }
    return mix(digest);
  }

  // The smallest key that no small run has been rid of.
  std::uint64_t least_head() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t run = 0; run < kRuns; ++run) {
      if (next_[run] == puts_) continue;
      least = std::min(least, small_[run].entries[next_[run]].key);
    }
    return least;
  }

  // Rids all small runs of `key`; its value in the newest that has it.
  std::uint64_t take(std::uint64_t key) {
    std::uint64_t value = 0;
    for (std::size_t run = 0; run < kRuns; ++run) {
      if (next_[run] == puts_) continue;
      const Entry& head = small_[run].entries[next_[run]];
      if (head.key != key) continue;
      value = head.value;
      ++next_[run];
    }
    return value;
  }

  WorkloadSettings settings_;
  std::array<Run, 2> large_;
  std::array<Run, kRuns> small_;           // the oldest first
  std::array<std::size_t, kRuns> next_{};  // entries merged
  std::vector<Entry> fresh_;
  std::vector<std::uint64_t> index_;
  std::size_t keys_ = 0, puts_ = 0;
  std::size_t current_ = 0;  // the large run that is complete
  std::size_t used_ = 0;     // small runs
  std::uint64_t steps_ = 0;
  std::uint64_t sum_ = 0;  // of what gets found
};

const RegisterWorkload kEntry{
    "lsm_tree",
    {"log-structured merge tree: puts into small sorted runs, gets through "
     "Bloom filters, merges of all runs",
     "one small run being made, the filters, and blocks of popular keys in the "
     "large run for 6 steps; then all runs, end to end, for 2; the next gets "
     "go to the other large run",
     true, make_workload<LsmTree>}};

}  // namespace
}  // namespace thermocline
