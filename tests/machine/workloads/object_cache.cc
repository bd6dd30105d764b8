// object_cache: a cache of a website's sessions, which forgets the one that has
// not been used for longest.
//
// An open hash table with linear probing finds a session in an array of items;
// a doubly linked list through the items has them by their last use. Each
// request brings its session to the front, reads it, and may write to it; when
// there is none, the oldest one's item is taken for a new session. The newest
// visitors ask most, and new ones come all the time.
#include <array>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kRequests = 100'000;    // in a step
constexpr std::uint64_t kGenerations = 512;     // steps until all are new
constexpr std::uint64_t kVisitors = 4;          // to one session kept
constexpr std::size_t kWords = 30;              // in a session
constexpr std::size_t kSlots = 3, kFilled = 2;  // of so many slots

// In the list by last use; item 0 is its head and holds no session.
struct Item {
  std::uint64_t visitor = 0;
  std::uint32_t newer = 0;
  std::uint32_t older = 0;
  std::array<std::uint64_t, kWords> words{};
};

struct Slot {
  std::uint32_t hash = 0;
  std::uint32_t item = 0;  // none: the slot is empty
};

std::uint64_t first_word(std::uint64_t visitor, std::size_t word) {
  return mix(visitor) + word;
}

class ObjectCache final : public Workload {
 public:
  explicit ObjectCache(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    kept_ = settings_.bytes * kFilled /
            (kFilled * sizeof(Item) + kSlots * sizeof(Slot));
    items_.resize(kept_ + 1);
    table_.resize(kept_ * kSlots / kFilled);
    std::uint32_t item = 0;
    for (const std::uint64_t visitor : first_visitors()) {
      items_[++item].visitor = visitor;
      begin_session(item);
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("items", items_), array_of("table", table_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    ++steps_;
    std::uint64_t sum = 0;
    each_request(index, [&](std::uint64_t visitor, std::uint64_t change) {
      sum = sum * 31 + serve(visitor, change);
    });
    sum_ += sum;
    return mix(sum);
  }

  // The same requests without a list or a hash table: by a log of all uses, in
  // which one is the session's last if its place is the one that is noted.
  Status check() override {
    struct Session {
      std::uint64_t used = 0;  // place in the log, from one; or none
      std::uint64_t sum = 0;   // of its words
    };
    std::vector<Session> sessions(newest(steps_) + 1);
    std::vector<std::uint64_t> log(1);
    std::size_t oldest = 1;
    const auto begin = [&](std::uint64_t visitor) {
      std::uint64_t& sum = sessions[visitor].sum = 0;
      for (std::size_t i = 0; i < kWords; ++i) sum += first_word(visitor, i);
    };
    const auto use = [&](std::uint64_t visitor) {
      sessions[visitor].used = log.size();
      log.push_back(visitor);
    };
    for (const std::uint64_t visitor : first_visitors()) {
      begin(visitor);
      use(visitor);
    }
    std::uint64_t expected = 0;
    for (std::uint64_t index = 0; index < steps_; ++index) {
      std::uint64_t sum = 0;
      each_request(index, [&](std::uint64_t visitor, std::uint64_t change) {
        Session& session = sessions[visitor];
        if (session.used == 0) {
          while (sessions[log[oldest]].used != oldest) ++oldest;
          sessions[log[oldest]].used = 0;
          begin(visitor);
        }
        use(visitor);
        sum = sum * 31 + session.sum;
        session.sum += change;
      });
      expected += sum;
    }
    if (sum_ != expected) return corrupt("requests found other sessions");
    std::uint32_t item = 0;
    for (std::size_t place = log.size(); --place > 0;) {
      const std::uint64_t visitor = log[place];
      if (sessions[visitor].used != place) continue;
      item = items_[item].older;
      if (item != 0 && items_[item].visitor == visitor &&
          sum_of(items_[item]) == sessions[visitor].sum) {
        continue;
      }
      return corrupt("the session of visitor " + std::to_string(visitor) +
                     " is not in its place");
    }
    if (items_[item].older == 0) return {};
    return corrupt("the list has more sessions than were kept");
  }

  void spoil() override { ++items_[kept_ / 2].words[kWords / 2]; }

 private:
  std::uint64_t visitors() const { return kept_ * kVisitors; }
  std::uint64_t newest(std::uint64_t index) const {
    return visitors() + index * (visitors() / kGenerations);
  }

  // One in four writes to its session: a change that is not zero.
  template <typename Visit>
  void each_request(std::uint64_t index, const Visit& visit) const {
    Random random(settings_.seed, index + 1);
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      const std::uint64_t visitor = newest(index) - random.skewed(visitors());
      const bool writes = random.below(4) == 0;
      visit(visitor, writes ? index * kRequests + i + 1 : 0);
    }
  }

  // The newest, in no order.
  std::vector<std::uint64_t> first_visitors() const {
    std::vector<std::uint64_t> all;
    all.reserve(kept_);
    for (std::size_t i = 0; i < kept_; ++i) all.push_back(newest(0) - i);
    Random random(settings_.seed);
    for (std::size_t i = kept_; i > 1; --i) {
      std::swap(all[i - 1], all[random.below(i)]);
    }
    return all;
  }

  static std::uint64_t sum_of(const Item& item) {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : item.words) sum += word;
    return sum;
  }

  // Returns the sum of the session's words, as the request finds them.
  std::uint64_t serve(std::uint64_t visitor, std::uint64_t change) {
    std::uint32_t item = table_[find(visitor)].item;
    if (item != 0) {
      unlink(item);
      link(item);
    } else {
      item = items_[0].newer;
      erase(find(items_[item].visitor));
      unlink(item);
      items_[item].visitor = visitor;
      begin_session(item);
    }
    const std::uint64_t sum = sum_of(items_[item]);
    if (change != 0) items_[item].words[change % kWords] += change;
    return sum;
  }

  void begin_session(std::uint32_t item) {
    const std::uint64_t visitor = items_[item].visitor;
    for (std::size_t i = 0; i < kWords; ++i) {
      items_[item].words[i] = first_word(visitor, i);
    }
    table_[find(visitor)] = {hash(visitor), item};
    link(item);
  }

  // In front: the head's `older` is the newest session, and so on in a ring.
  void link(std::uint32_t item) {
    const std::uint32_t second = items_[0].older;
    items_[item].newer = 0;
    items_[item].older = second;
    items_[second].newer = item;
    items_[0].older = item;
  }

  void unlink(std::uint32_t item) {
    const Item& one = items_[item];
    items_[one.newer].older = one.older;
    items_[one.older].newer = one.newer;
  }

  std::uint32_t hash(std::uint64_t visitor) const {
    return static_cast<std::uint32_t>(mix(visitor ^ settings_.seed << 40));
  }
  std::size_t home(std::uint32_t hash) const {
    return hash * table_.size() >> 32;
  }
  std::size_t after(std::size_t slot) const {
    return slot + 1 == table_.size() ? 0 : slot + 1;
  }
  std::size_t way(std::size_t from, std::size_t to) const {
    return to - from + (to < from ? table_.size() : 0);
  }

  // Its slot, or the empty one where it would be.
  std::size_t find(std::uint64_t visitor) const {
    const std::uint32_t wanted = hash(visitor);
    std::size_t at = home(wanted);
    for (; table_[at].item != 0; at = after(at)) {
      const Slot& slot = table_[at];
      if (slot.hash == wanted && items_[slot.item].visitor == visitor) break;
    }
    return at;
  }

  // Those behind it move up, but none to before its home.
  void erase(std::size_t gap) {
    for (std::size_t at = after(gap); table_[at].item != 0; at = after(at)) {
      if (way(home(table_[at].hash), at) < way(gap, at)) continue;
      table_[gap] = table_[at];
      gap = at;
    }
    table_[gap] = {};
  }

  WorkloadSettings settings_;
  std::vector<Item> items_;
  std::vector<Slot> table_;
  std::size_t kept_ = 0;  // sessions
  std::uint64_t steps_ = 0;
  std::uint64_t sum_ = 0;  // of what requests found
};

const RegisterWorkload kEntry{
    "object_cache",
    {"object cache: sessions in a hash table and a list by last use, the "
     "oldest "
     "replaced",
     "sessions of the newest visitors (half of all requests for 1/64 of what "
     "is "
     "kept), anywhere in the items, with their neighbours in the list; the "
     "newest moves on by 1/128 a step, and takes the oldest one's place",
     true, make_workload<ObjectCache>}};

}  // namespace
}  // namespace thermocline
