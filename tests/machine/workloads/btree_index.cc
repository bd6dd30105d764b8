// btree_index: a bank's accounts, found by their numbers through a B+-tree, the
// usual index of a database.
//
// Inner nodes lead to leaves, which have the numbers in order, each with its
// row's place in a table; leaves are linked for scans. Most transactions pay
// into one account, the popular ones more often; some open an account; some
// sum the balances of a range. Accounts are never closed, and full nodes split
// in the middle, so that each is at least half full.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kTransactions = 40'000;  // in a step
constexpr std::uint64_t kKinds = 16;             // one opens, one sums,
constexpr std::size_t kRange = 50;               // so many accounts
constexpr std::uint64_t kLate = 8;    // one of so many is opened in a step
constexpr std::size_t kKeys = 42;     // of a leaf; children of an inner node
constexpr std::size_t kLevels = 8;    // of inner nodes, at most
constexpr std::size_t kLeaves = 16;   // to an inner node, at least
constexpr unsigned kNumberBits = 20;  // of a number, that do not tell its order

struct alignas(64) Leaf {
  std::uint32_t count = 0;
  std::uint32_t next = 0;  // 0: none
  std::array<std::uint64_t, kKeys> keys{};
  std::array<std::uint32_t, kKeys> rows{};

  std::size_t lower_bound(std::uint64_t key) const {
    const auto at = std::lower_bound(keys.begin(), keys.begin() + count, key);
    return static_cast<std::size_t>(at - keys.begin());
  }

  void insert(std::uint64_t key, std::uint32_t row) {
    const std::size_t at = lower_bound(key);
    std::move_backward(&keys[at], keys.data() + count, keys.data() + count + 1);
    std::move_backward(&rows[at], rows.data() + count, rows.data() + count + 1);
    keys[at] = key;
    rows[at] = row;
    ++count;
  }
};

// Child i + 1 has the keys from key i on.
struct alignas(64) Inner {
  std::uint32_t count = 0;  // of keys; there is one more child
  std::array<std::uint32_t, kKeys> children{};
  std::array<std::uint64_t, kKeys - 1> keys{};

  std::size_t place(std::uint64_t key) const {
    const auto at = std::upper_bound(keys.begin(), keys.begin() + count, key);
    return static_cast<std::size_t>(at - keys.begin());
  }

  void insert(std::uint64_t key, std::uint32_t child) {
    const std::size_t at = place(key);
    std::move_backward(&keys[at], keys.data() + count, keys.data() + count + 1);
    std::move_backward(&children[at] + 1, children.data() + count + 1,
                       children.data() + count + 2);
    keys[at] = key;
    children[at + 1] = child;
    ++count;
  }
};

using Path = std::array<std::uint32_t, kLevels>;

struct Row {
  std::uint64_t number = 0;
  std::uint64_t balance = 0;
  std::uint64_t payments = 0;
  std::uint64_t last = 0;  // paid
};

struct Transaction {
  std::uint64_t kind = 0;  // 0: opens; 1: sums; others pay
  std::size_t account = 0;
  std::uint64_t amount = 0;
};

class BtreeIndex final : public Workload {
 public:
  explicit BtreeIndex(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t leaf =
        (sizeof(Leaf) + sizeof(Inner) / kLeaves) / (kKeys / 2);
    accounts_ = settings_.bytes / (leaf + sizeof(Row));
    leaves_.resize(accounts_ / (kKeys / 2) + 2);
    inner_.resize(leaves_.size() / kLeaves + kLevels);
    rows_.resize(accounts_);
    for (const std::size_t account : first_accounts()) {
      insert(number(account), open(account));
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("leaves", leaves_), array_of("inner", inner_),
            array_of("rows", rows_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    ++steps_;
    std::uint64_t sum = 0;
    each(index, [&](const Transaction& one) {
      const std::uint64_t key = number(one.account);
      if (one.kind == 1) {
        sum = sum * 31 + balance_from(key);
        return;
      }
      auto row = find(key);
      if (!row && one.kind == 0) insert(key, *(row = open(one.account)));
      sum = sum * 31 + (row ? pay(rows_[*row], one.amount) : 1);
    });
    sum_ += sum;
    return mix(sum);
  }

  // The same transactions on plain arrays by account, which are in the order of
  // their numbers; the leaves have all accounts in that order, and no others.
  Status check() override {
    std::vector<std::uint64_t> balances(accounts_);
    std::vector<char> open(accounts_);
    for (const std::size_t account : first_accounts()) open[account] = 1;
    for (std::size_t i = 0; i < accounts_; ++i) balances[i] = first_balance(i);
    std::uint64_t expected = 0;
    for (std::uint64_t index = 0; index < steps_; ++index) {
      std::uint64_t sum = 0;
      each(index, [&](const Transaction& one) {
        if (one.kind == 1) {
          std::uint64_t range = 0;
          std::size_t left = kRange;
          for (std::size_t i = one.account; i < accounts_ && left > 0; ++i) {
            if (open[i] != 0) range += balances[i], --left;
          }
          sum = sum * 31 + range;
          return;
        }
        if (one.kind == 0) open[one.account] = 1;
        const bool there = open[one.account] != 0;
        sum = sum * 31 + (there ? balances[one.account] += one.amount : 1);
      });
      expected += sum;
    }
    if (sum_ != expected) return corrupt("transactions found other balances");
    std::uint32_t leaf = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < accounts_; ++i) {
      const auto row = find(number(i));
      if (row.has_value() != (open[i] != 0)) {
        return corrupt("the tree and the accounts opened differ");
      }
      if (!row) continue;
      if (at == leaves_[leaf].count) leaf = leaves_[leaf].next, at = 0;
      if (leaves_[leaf].keys[at] != number(i) ||
          leaves_[leaf].rows[at++] != *row ||
          rows_[*row].balance != balances[i]) {
        return corrupt("account " + std::to_string(i) +
                       " is not in its place or has another balance");
      }
    }
    if (at == leaves_[leaf].count && leaves_[leaf].next == 0) return {};
    return corrupt("the leaves have more accounts than were opened");
  }

  void spoil() override { ++rows_[opened_ / 2].balance; }

 private:
  // Ascending, with gaps.
  std::uint64_t number(std::size_t account) const {
    const std::uint64_t gap = mix(account + (settings_.seed << 40));
    return account << kNumberBits | gap >> (64 - kNumberBits);
  }
  static std::uint64_t first_balance(std::size_t account) {
    return mix(account) >> 48;
  }

  // In the order they were opened.
  std::vector<std::size_t> first_accounts() const {
    std::vector<std::size_t> all(accounts_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    Random random(settings_.seed);
    for (std::size_t i = all.size(); i > 1; --i) {
      std::swap(all[i - 1], all[random.below(i)]);
    }
    all.resize(accounts_ - accounts_ / kLate);
    return all;
  }

  // Popular accounts lie anywhere; so do ranges, and what is opened. Opening an
  // account that there is pays into it.
  template <typename Visit>
  void each(std::uint64_t index, const Visit& visit) const {
    Random random(settings_.seed, index + 2);
    for (std::uint64_t i = 0; i < kTransactions; ++i) {
      const std::uint64_t kind = random.below(kKinds);
      const std::size_t account =
          kind < 2 ? random.below(accounts_)
                   : mix(random.skewed(accounts_) + 1) % accounts_;
      visit(Transaction{kind, account, random.below(1000) + 1});
    }
  }

  std::uint32_t open(std::size_t account) {
    rows_[opened_] = {number(account), first_balance(account), 0, 0};
    return opened_++;
  }

  static std::uint64_t pay(Row& row, std::uint64_t amount) {
    ++row.payments;
    row.last = amount;
    return row.balance += amount;
  }

  // Its leaf; the inner nodes above, from the root on, are in the path.
  std::uint32_t leaf_of(std::uint64_t key, Path& path) const {
    std::uint32_t at = root_;
    for (std::size_t level = 0; level < levels_; ++level) {
      path[level] = at;
      at = inner_[at].children[inner_[at].place(key)];
    }
    return at;
  }

  std::optional<std::uint32_t> find(std::uint64_t key) const {
    Path path;
    const Leaf& leaf = leaves_[leaf_of(key, path)];
    const std::size_t at = leaf.lower_bound(key);
    if (at == leaf.count || leaf.keys[at] != key) return {};
    return leaf.rows[at];
  }

  // Of the first kRange accounts from `key` on.
  std::uint64_t balance_from(std::uint64_t key) const {
    Path path;
    std::uint32_t leaf = leaf_of(key, path);
    std::size_t at = leaves_[leaf].lower_bound(key);
    std::uint64_t sum = 0;
    for (std::size_t left = kRange; left > 0; --left) {
      if (at == leaves_[leaf].count) {
        if (leaves_[leaf].next == 0) break;
        leaf = leaves_[leaf].next;
        at = 0;
      }
      sum += rows_[leaves_[leaf].rows[at++]].balance;
    }
    return sum;
  }

  void insert(std::uint64_t key, std::uint32_t row) {
    Path path;
    std::uint32_t at = leaf_of(key, path);
    if (leaves_[at].count == kKeys) {
      const std::uint32_t right = split(at);
      const std::uint64_t first = leaves_[right].keys[0];
      hang(path, first, right);
      if (key >= first) at = right;
    }
    leaves_[at].insert(key, row);
  }

  // Returns the new leaf, which has the upper half.
  std::uint32_t split(std::uint32_t at) {
    Leaf& left = leaves_[at];
    Leaf& right = leaves_[leaves_used_];
    constexpr std::size_t kHalf = kKeys / 2;
    std::copy(&left.keys[kHalf], left.keys.end(), right.keys.begin());
    std::copy(&left.rows[kHalf], left.rows.end(), right.rows.begin());
    left.count = kHalf;
    right.count = kKeys - kHalf;
    right.next = left.next;
    left.next = leaves_used_;
    return leaves_used_++;
  }

  // Below the last node of the path; full ones split, and so may the root.
  void hang(const Path& path, std::uint64_t key, std::uint32_t child) {
    for (std::size_t level = levels_; level-- > 0;) {
      Inner& left = inner_[path[level]];
      if (left.count < left.keys.size()) {
        left.insert(key, child);
        return;
      }
      Inner& right = inner_[inner_used_];
      constexpr std::size_t kHalf = (kKeys - 1) / 2;  // the key that goes up
      const std::uint64_t up = left.keys[kHalf];
      std::copy(&left.keys[kHalf + 1], left.keys.end(), right.keys.begin());
      std::copy(&left.children[kHalf + 1], left.children.end(),
                right.children.begin());
      left.count = kHalf;
      right.count = kKeys - 2 - kHalf;
      (key < up ? left : right).insert(key, child);
      key = up;
      child = inner_used_++;
    }
    Inner& root = inner_[inner_used_];
    root.count = 1;
    root.keys[0] = key;
    root.children[0] = root_;
    root.children[1] = child;
    root_ = inner_used_++;
    CHECK(++levels_ <= kLevels);
  }

  WorkloadSettings settings_;
  std::vector<Leaf> leaves_;
  std::vector<Inner> inner_;
  std::vector<Row> rows_;     // in the order they were opened
  std::size_t accounts_ = 0;  // that there may be
  std::uint32_t opened_ = 0, leaves_used_ = 1, inner_used_ = 0;
  std::uint32_t root_ = 0;  // a leaf at first; leaf 0 stays the first one
  std::size_t levels_ = 0;  // of inner nodes
  std::uint64_t steps_ = 0;
  std::uint64_t sum_ = 0;  // of what transactions found
};

const RegisterWorkload kEntry{
    "btree_index",
    {"database index: a B+-tree finds accounts to pay into, takes new ones, "
     "and is scanned by ranges",
     "inner nodes, leaves and rows of popular accounts, which lie anywhere; "
     "the others' now and then, leaf by leaf and their rows at random; never "
     "changes",
     false, make_workload<BtreeIndex>}};

}  // namespace
}  // namespace thermocline
