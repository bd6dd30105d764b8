// Budget: bytes a second that copies may use, shared by all that copy.
//
// Moves of pages and, say, the writing of checkpoints use the same memory
// channels. Each registers under a name with a weight, and is sure of its
// share of the rate; what the others leave over it may use as well. Saved
// up is one second's worth in all, so that nobody bursts above that.
//
// Thread safety: none; the loop's thread. Ids stay valid until remove().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

class Budget {
 public:
  /// Saves up one second's worth, or `least` where that is more, so that one
  /// region always fits some day. It starts full. A rate of 0: no copies.
  Budget(Bytes bytes_per_s, Bytes least, Nanos now);
  void set_rate(Bytes bytes_per_s);
  Bytes rate() const { return rate_; }

  using Id = std::uint32_t;
  /// Errors: kInvalid when the name is empty or taken, or the weight is not
  /// above 0. The others' shares shrink.
  Result<Id> add(std::string name, double weight);
  /// What it has saved up goes to those that stay.
  void remove(Id id);

  /// What it may use now: its own, and what the others left over.
  Bytes available(Id id, Nanos now);
  /// More than is available may be taken, when it has been used already: it has
  /// nothing then until its share has brought in what it owes.
  void take(Id id, Bytes bytes);
  void give_back(Id id, Bytes bytes);

  struct Use {
    std::string name;
    double weight = 1;
    Bytes taken = 0;  // since it was added, less what was given back
  };
  std::vector<Use> uses() const;

 private:
  struct Account {
    Use use;
    double level = 0;
    bool open = false;
  };
  double size() const;
  double share(const Account& account) const;
  double saved() const;
  void put(Account& account, double bytes);
  void fill(Nanos now);

  Bytes rate_;
  Bytes least_;
  double common_;  // left over, for anyone
  Nanos filled_at_;
  std::vector<Account> accounts_;
};

// BudgetShare: one consumer's view of a budget. A plain value.
class BudgetShare {
 public:
  BudgetShare(Budget& budget, Budget::Id id) : budget_(&budget), id_(id) {}
  Bytes available(Nanos now) { return budget_->available(id_, now); }
  void take(Bytes bytes) { budget_->take(id_, bytes); }
  void give_back(Bytes bytes) { budget_->give_back(id_, bytes); }

 private:
  Budget* budget_;
  Budget::Id id_;
};

}  // namespace thermocline
