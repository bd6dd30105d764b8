// merge_sort: sorts a table of records as a database does that builds an index
// over one column after the other: sorted runs first, then their merge.
//
// A run is sorted by its key's three digits (11 bits), the last digit first;
// the runs are merged by a heap of their heads. Both keep the order of equal
// keys. One column is of ids in no order, the other of times, nearly in order.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kRuns = 8;  // so many steps sort, and as many merge
constexpr std::size_t kDigitBits = 11;
constexpr std::size_t kDigits = 1 << kDigitBits;
constexpr std::size_t kPasses = 3;
constexpr std::size_t kLate = 1024;  // records that a time is late, at most

struct Entry {
  std::array<std::uint32_t, 2> columns{};
  std::uint64_t payload = 0;
  bool operator==(const Entry&) const = default;
};

class MergeSort final : public Workload {
 public:
  explicit MergeSort(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    // Three tables, and as much as one run to sort in.
    run_ = settings_.bytes / sizeof(Entry) / (3 * kRuns + 1);
    const std::size_t all = run_ * kRuns;
    Random random(settings_.seed);
    table_.reserve(all);
    for (std::size_t i = 0; i < all; ++i) {
      const std::uint64_t bits = random.next();
      const std::size_t time = i + (bits & (kLate - 1));
      table_.push_back({{static_cast<std::uint32_t>(bits >> 32),
                         static_cast<std::uint32_t>(time)},
                        mix(bits)});
    }
    runs_.resize(all);
    sorted_.resize(all);
    scratch_.resize(run_);
  }

  std::vector<Array> arrays() const override {
    return {array_of("table", table_), array_of("runs", runs_),
            array_of("sorted", sorted_), array_of("scratch", scratch_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const std::uint64_t place = index % (2 * kRuns);
    if (place == 0) {
      column_ = index / (2 * kRuns) % 2;
      runs_done_ = merged_ = 0;
    }
    return place < kRuns ? sort_run() : merge_some();
  }

  // What is sorted, and merged, is what a stable sort of the same table gives.
  Status check() override {
    const auto before = [this](const Entry& a, const Entry& b) {
      return a.columns[column_] < b.columns[column_];
    };
    std::vector<Entry> expected = table_;
    for (std::size_t run = 0; run < runs_done_; ++run) {
      const auto begin = offset(expected, run);
      std::stable_sort(begin, offset(expected, run + 1), before);
      if (!std::equal(begin, offset(expected, run + 1), offset(runs_, run))) {
        return corrupt("run " + std::to_string(run) + " is not sorted");
      }
    }
    if (merged_ == 0) return {};
    std::stable_sort(expected.begin(), expected.end(), before);
    for (std::size_t i = 0; i < merged_; ++i) {
      if (sorted_[i] == expected[i]) continue;
      return corrupt("record " + std::to_string(i) + " is out of order");
    }
    return {};
  }

  void spoil() override { runs_[run_ / 2].payload ^= 1; }

 private:
  std::vector<Entry>::iterator offset(std::vector<Entry>& of,
                                      std::size_t run) const {
    return of.begin() + static_cast<std::ptrdiff_t>(run * run_);
  }

  static std::size_t digit(std::uint32_t key, std::size_t pass) {
    return key >> (pass * kDigitBits) & (kDigits - 1);
  }

  // Counts all digits at once, then moves the records from the table to the
  // run, to the scratch, and back.
  std::uint64_t sort_run() {
    const Entry* const source = &table_[runs_done_ * run_];
    Entry* const target = &runs_[runs_done_ * run_];
    for (auto& count : counts_) count.fill(0);
    for (std::size_t i = 0; i < run_; ++i) {
      const std::uint32_t key = source[i].columns[column_];
      for (std::size_t pass = 0; pass < kPasses; ++pass) {
        ++counts_[pass][digit(key, pass)];
      }
    }
    scatter(source, target, 0);
    scatter(target, scratch_.data(), 1);
    scatter(scratch_.data(), target, 2);
    ++runs_done_;
    Digest digest;
    for (std::size_t i = 0; i < run_; i += 64) digest.add(target[i].payload);
    return digest.value();
  }

  void scatter(const Entry* from, Entry* to, std::size_t pass) {
    std::array<std::uint32_t, kDigits>& at = counts_[pass];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : at) {
      const std::uint32_t own = count;
      count = sum;
      sum += own;
    }
    for (std::size_t i = 0; i < run_; ++i) {
      to[at[digit(from[i].columns[column_], pass)]++] = from[i];
    }
  }

  // A run's key and number in one word: of equal keys the earlier run's first.
  std::uint64_t head(std::size_t run) const {
    const std::uint64_t key = runs_[next_[run]].columns[column_];
    return key << 32 | run;
  }

  std::uint64_t merge_some() {
    const auto later = [](std::uint64_t a, std::uint64_t b) { return a > b; };
    if (merged_ == 0) {
      heads_.clear();
      for (std::size_t run = 0; run < kRuns; ++run) {
        next_[run] = run * run_;
        heads_.push_back(head(run));
      }
      std::make_heap(heads_.begin(), heads_.end(), later);
    }
    std::uint64_t digest = 0;
    for (const std::size_t end = merged_ + run_; merged_ < end; ++merged_) {
      std::pop_heap(heads_.begin(), heads_.end(), later);
      const std::size_t run = heads_.back() & (kRuns - 1);
      sorted_[merged_] = runs_[next_[run]++];
      digest = digest * 31 + sorted_[merged_].payload;
      if (next_[run] < (run + 1) * run_) {
        heads_.back() = head(run);
        std::push_heap(heads_.begin(), heads_.end(), later);
      } else {
        heads_.pop_back();
      }
    }
    return mix(digest);
  }

  WorkloadSettings settings_;
  std::vector<Entry> table_, runs_, sorted_, scratch_;
  std::array<std::array<std::uint32_t, kDigits>, kPasses> counts_{};
  std::array<std::size_t, kRuns> next_{};
  std::vector<std::uint64_t> heads_;
  std::size_t run_ = 0;        // records in one
  std::size_t runs_done_ = 0;  // of this round
  std::size_t merged_ = 0;     // records of this round
  std::size_t column_ = 0;
};

const RegisterWorkload kEntry{
    "merge_sort",
    {"merge sort: a table's records by one column, then the other: runs by "
     "radix sort, then their merge",
     "one of 8 runs and the scratch while runs are sorted; then the heads of "
     "the runs and the end of the result; 8 steps each, over and over",
     true, make_workload<MergeSort>}};

}  // namespace
}  // namespace thermocline
