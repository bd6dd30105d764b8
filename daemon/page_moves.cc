#include "daemon/page_moves.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "daemon/huge_pages.h"
#include "daemon/node_room.h"

namespace thermocline {
namespace {

// An index into the lists below: they are thousands long, and new memory for
// them costs as much as what is done with it.
using Index = std::uint32_t;

// One page of one order, on its way.
struct Page {
  Address address = 0;
  Index order = 0;
  int node = kUntouched;  // where it lies now, or -errno
  int reason = 0;         // errno of its failure so far
  bool doubted = false;   // asked about again after its own EBUSY
  bool seen = false;      // as MoveOrder has it
};

// What is handed to the kernel: one address that stands for the pages
// [first, last) of the list of pages left; several where a huge page is one.
struct Slot {
  Address address = 0;
  Index first = 0;
  Index last = 0;
  bool huge = false;
};

// Moves the pages bound for one tier.
class TierMove {
 public:
  TierMove(Kernel& kernel, const Machine& machine, int pid, TierId to)
      : kernel_(kernel), machine_(machine), pid_(pid), to_(to) {}

  void add(const MoveOrder& order, Index index) {
    const int node =
        order.seen ? machine_.tiers[order.from].nodes.front() : kUntouched;
    pages_.reserve(pages_.size() + order.pages.size());
    for (const auto address : order.pages) {
      pages_.push_back({address, index, node, 0, false, order.seen});
    }
  }

  void run(std::vector<MoveOutcome>& outcomes) {
    if (!std::ranges::is_sorted(pages_, {}, &Page::address)) {
      std::ranges::sort(pages_, {}, &Page::address);
    }
    for (Index i = 0; i < pages_.size(); ++i) {
      if (!pages_[i].seen) left_.push_back(i);
    }
    if (query(left_)) {
      count_what_stays(outcomes);
      for (const int node : machine_.tiers[to_].nodes) {
        if (!move_to(node, outcomes)) break;
      }
    }
    for (const auto& page : pages_) settle(page, outcomes[page.order]);
    for (auto& outcome : outcomes) {
      if (outcome.to == to_) outcome.gone = gone_;
    }
  }

 private:
  bool arrived(const Page& page) const {
    return page.node >= 0 && machine_.tier_of_node(page.node) == to_;
  }

  static bool absent(const Page& page) {
    return page.node == -ENOENT || page.node == -EFAULT;
  }

  void list_what_is_left() {
    left_.clear();
    left_.reserve(pages_.size());
    for (Index i = 0; i < pages_.size(); ++i) {
      if (!arrived(pages_[i])) left_.push_back(i);
    }
  }

  // Asks where pages lie; false when the process cannot be asked at all.
  bool query(std::span<const Index> which) {
    if (which.empty()) return true;
    std::vector<Address> addresses;
    addresses.reserve(which.size());
    for (const auto i : which) addresses.push_back(pages_[i].address);
    const auto nodes = page_nodes(kernel_, pid_, addresses);
    if (!nodes) {
      gone_ = nodes.error().code == Error::Code::kNotFound;
      stop(gone_ ? ESRCH : EPERM);
      return false;
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
      pages_[which[i]].node = (*nodes)[i];
    }
    return true;
  }

  // What is not there and has no cause yet fails for this reason.
  void stop(int reason) {
    for (auto& page : pages_) {
      if (page.reason == 0) page.reason = reason;
    }
  }

  // Takes the pages that need no move off the list.
  void count_what_stays(std::vector<MoveOutcome>& outcomes) {
    const auto stays = [&](const Page& page) {
      auto& outcome = outcomes[page.order];
      if (arrived(page)) {
        ++outcome.already_there;
        ++outcome.pages_by_tier[to_];
      } else if (absent(page)) {
        ++outcome.absent;
      } else {
        return false;
      }
      return true;
    };
    pages_.erase(std::remove_if(pages_.begin(), pages_.end(), stays),
                 pages_.end());
  }

  std::vector<Slot> cut_into_slots(bool ask_for_huge) {
    std::vector<Slot> slots;
    slots.reserve(left_.size());
    HugePages huge(kernel_, pid_);
    Address last_block = 0;
    for (Index i = 0; i < left_.size(); ++i) {
      const Page& page = pages_[left_[i]];
      const Address address = page.address;
      const Address block =
          ask_for_huge && !page.seen ? huge.block_of(address) : 0;
      if (block != 0 && block == last_block) {
        slots.back().last = i + 1;
      } else {
        slots.push_back({address, i, i + 1, block != 0});
      }
      last_block = block;
    }
    if (ask_for_huge) huge_bytes_ = huge.bytes();
    return slots;
  }

  // Moves what has not arrived. True when the next node is worth a try.
  bool move_to(int node, std::vector<MoveOutcome>& outcomes) {
    list_what_is_left();
    const auto slots = cut_into_slots(true);
    long got = send(slots, node);
    bool split = false;
    for (const auto& slot : slots) {
      if (!slot.huge || !arrived(pages_[left_[slot.first]])) continue;
      split = split || !arrived(pages_[left_[slot.last - 1]]);
      for (auto i = slot.first; i < slot.last; ++i) {
        outcomes[pages_[left_[i]].order].huge = true;
      }
      const auto whole = huge_bytes_ / kernel_.page_bytes();
      outcomes[pages_[left_[slot.first]].order].dragged +=
          whole - std::min<std::uint64_t>(whole, slot.last - slot.first);
    }
    if (split && got >= 0) {
      // The kernel cut a huge page up, for want of a free block (migrate.c).
      list_what_is_left();
      got = send(cut_into_slots(false), node);
    }
    list_what_is_left();
    return !left_.empty() && got != -ESRCH && got != -EPERM;
  }

  // All slots in batches. Returns the last call's answer; stops early where
  // all further batches would fail alike.
  long send(std::span<const Slot> slots, int node) {
    long got = 0;
    NodeRoom room(kernel_, node);
    for (std::size_t at = 0; at < slots.size();) {
      const auto count = fitting(
          slots.subspan(at, std::min(kPagesPerMove, slots.size() - at)), room);
      got = count > 0 ? batch(slots.subspan(at, count), node) : -ENOMEM;
      at += count;
      if (got == -ESRCH || got == -EPERM || got == -ENOMEM || got == -ENODEV ||
          got == -EACCES) {
        stop(static_cast<int>(-got));
        break;
      }
    }
    return got;
  }

  // How many of the slots, from the first on, the node has room for.
  std::size_t fitting(std::span<const Slot> slots, NodeRoom& room) const {
    const auto bytes = [&](const Slot& slot) {
      return slot.huge ? huge_bytes_ : kernel_.page_bytes();
    };
    Bytes wanted = 0;
    for (const auto& slot : slots) wanted += bytes(slot);
    Bytes left = room.take(wanted);
    std::size_t count = 0;
    while (count < slots.size() && bytes(slots[count]) <= left) {
      left -= bytes(slots[count++]);
    }
    return count;
  }

  // One call to the kernel, and what is needed to know what it did.
  long batch(std::span<const Slot> slots, int node) {
    std::vector<Address> addresses;
    addresses.reserve(slots.size());
    for (const auto& slot : slots) addresses.push_back(slot.address);
    const std::vector<int> nodes(slots.size(), node);
    std::vector<int> status(slots.size(), kUntouched);
    const long got = kernel_.move_pages(pid_, addresses, nodes, status);
    if (got == -ESRCH) gone_ = true;
    if (got == -ESRCH || got == -EPERM) return got;
    std::vector<Index> doubtful;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      // Only a plain success on a base page is believed as it stands.
      const bool plain = got == 0 && status[s] >= 0 && !slots[s].huge;
      for (auto i = slots[s].first; i < slots[s].last; ++i) {
        pages_[left_[i]].node = status[s];
        pages_[left_[i]].reason = why(got, status[s]);
        pages_[left_[i]].doubted = status[s] == -EBUSY && !slots[s].huge;
        if (!plain) doubtful.push_back(left_[i]);
      }
    }
    if (!doubtful.empty() && !query(doubtful)) return gone_ ? -ESRCH : -EPERM;
    return got;
  }

  static int why(long got, int status) {
    if (status != kUntouched && status < 0) return -status;
    if (got < 0) return static_cast<int>(-got);
    return EBUSY;  // counted as not migrated, without a cause
  }

  void settle(const Page& page, MoveOutcome& outcome) const {
    if (page.node >= 0) {
      const TierId tier = machine_.tier_of_node(page.node);
      if (tier != kNoTier) ++outcome.pages_by_tier[tier];
    }
    if (arrived(page)) {
      ++outcome.moved;
      // EBUSY and yet there: the tail of a huge page we could not see.
      if (page.reason == EBUSY && page.doubted) outcome.huge = true;
    } else if (page.seen && absent(page)) {
      ++outcome.absent;  // given back since
    } else {
      const int reason = page.reason != 0 ? page.reason : EBUSY;
      ++outcome.failed[reason];
      outcome.stuck[reason].push_back(page.address);
    }
  }

  Kernel& kernel_;
  const Machine& machine_;
  int pid_;
  TierId to_;
  bool gone_ = false;
  Bytes huge_bytes_ = 0;
  std::vector<Page> pages_;
  std::vector<Index> left_;  // indices of pages_ that have not arrived
};

}  // namespace

Result<std::vector<int>> page_nodes(Kernel& kernel, int pid,
                                    std::span<const Address> pages) {
  std::vector<int> out(pages.size(), kUntouched);
  for (std::size_t at = 0; at < pages.size(); at += kPagesPerQuery) {
    const auto count = std::min(kPagesPerQuery, pages.size() - at);
    const long got = kernel.move_pages(pid, pages.subspan(at, count), {},
                                       {out.data() + at, count});
    if (got >= 0) continue;
    const std::string name = "pid " + std::to_string(pid);
    // EINVAL: it is there, but on its way out, its memory already given back
    // (find_mm_struct in mm/migrate.c).
    if (got == -ESRCH || got == -EINVAL) return not_found(name + " has gone");
    if (got == -EPERM || got == -EACCES) {
      return permission(name +
                        " may not be looked at; run thermoclined as its user "
                        "or with CAP_SYS_PTRACE");
    }
    return io("asking where pages of " + name +
              " lie: " + std::strerror(static_cast<int>(-got)));
  }
  return out;
}

std::uint64_t extents_of(std::span<const MoveOrder> orders, Bytes page) {
  std::map<TierId, std::vector<Address>> bound;
  for (const auto& order : orders) {
    auto& pages = bound[order.to];
    pages.insert(pages.end(), order.pages.begin(), order.pages.end());
  }
  std::uint64_t extents = 0;
  for (auto& [tier, pages] : bound) {
    std::sort(pages.begin(), pages.end());
    for (std::size_t i = 0; i < pages.size(); ++i) {
      extents += i == 0 || pages[i] > pages[i - 1] + page;
    }
  }
  return extents;
}

std::vector<MoveOutcome> move_pages_of(Kernel& kernel, const Machine& machine,
                                       int pid,
                                       std::span<const MoveOrder> orders) {
  std::vector<MoveOutcome> outcomes;
  for (const auto& order : orders) {
    MoveOutcome outcome = outcome_of(order);
    outcome.pages_by_tier.assign(machine.tiers.size(), 0);
    outcomes.push_back(std::move(outcome));
  }
  // Slowest destination first: demotions make the room for promotions.
  for (std::size_t t = machine.tiers.size(); t-- > 0;) {
    const auto to = static_cast<TierId>(t);
    TierMove work(kernel, machine, pid, to);
    bool any = false;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (orders[i].to != to) continue;
      work.add(orders[i], static_cast<Index>(i));
      any = true;
    }
    if (any) work.run(outcomes);
  }
  return outcomes;
}

}  // namespace thermocline
