#include "daemon/tier_move.h"

#include <algorithm>
#include <cerrno>

namespace thermocline {
namespace {

bool is_absent(int node) { return node == -ENOENT || node == -EFAULT; }

// Whatever else is sent to this node would fail alike.
bool closes(long got) {
  return got == -ENOMEM || got == -ENODEV || got == -EACCES;
}

int why(long got, int status) {
  if (status != kUntouched && status < 0) return -status;
  if (got < 0) return static_cast<int>(-got);
  return EBUSY;  // counted as not migrated, without a cause
}

}  // namespace

TierMove::TierMove(Kernel& kernel, const Machine& machine, int pid, TierId to)
    : kernel_(kernel), machine_(machine), pid_(pid), to_(to) {
  for (const int id : machine.tiers[to].nodes) {
    nodes_.push_back({id, NodeRoom(kernel, id)});
  }
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    for (const int id : machine.tiers[t].nodes) {
      const auto place = static_cast<std::size_t>(id);
      if (place >= tier_of_node_.size())
        tier_of_node_.resize(place + 1, kNoTier);
      tier_of_node_[place] = static_cast<TierId>(t);
    }
  }
}

TierId TierMove::tier_of(const Page& page) const {
  const auto place = static_cast<std::size_t>(page.node);
  return page.node >= 0 && place < tier_of_node_.size() ? tier_of_node_[place]
                                                        : kNoTier;
}

void TierMove::run(std::span<const MoveOrder> orders,
                   std::vector<MoveOutcome>& outcomes) {
  list_mine(orders);
  while (next_window(orders)) {
    if (ended_ == 0) move_window(outcomes);
    if (ended_ != 0) stop(ended_);
    for (const auto& page : pages_) settle(page, outcomes[page.order]);
  }
  for (const auto i : mine_) outcomes[i].gone = ended_ == ESRCH;
}

void TierMove::list_mine(std::span<const MoveOrder> orders) {
  bool ask = false;
  for (Index i = 0; i < orders.size(); ++i) {
    if (orders[i].to != to_ || orders[i].pages.empty()) continue;
    mine_.push_back(i);
    ask = ask || !orders[i].seen;
  }
  std::ranges::sort(mine_, {}, [&](Index i) { return orders[i].pages[0]; });
  if (ask) huge_.emplace(kernel_, pid_);
}

// Fills the window; false when nothing is left to fill it with.
bool TierMove::next_window(std::span<const MoveOrder> orders) {
  pages_.clear();
  left_.clear();
  const Bytes huge = huge_ ? huge_->bytes() : 0;
  for (; at_ < mine_.size(); ++at_, page_ = 0) {
    const MoveOrder& order = orders[mine_[at_]];
    const int node =
        order.seen ? machine_.tiers[order.from].nodes.front() : kUntouched;
    for (; page_ < order.pages.size(); ++page_) {
      const Address address = order.pages[page_];
      const bool inside = huge != 0 && !order.seen && !pages_.empty() &&
                          address / huge == pages_.back().address / huge;
      if (pages_.size() >= kPagesPerMove && !inside) return true;
      pages_.push_back({address, mine_[at_], node, 0, false, order.seen});
    }
  }
  return !pages_.empty();
}

void TierMove::move_window(std::vector<MoveOutcome>& outcomes) {
  if (!std::ranges::is_sorted(pages_, {}, &Page::address)) {
    std::ranges::sort(pages_, {}, &Page::address);
  }
  for (Index i = 0; i < pages_.size(); ++i) {
    if (!pages_[i].seen) left_.push_back(i);
  }
  if (!left_.empty()) {
    if (!query(left_)) return;
    count_what_stays(outcomes);
  }
  for (Node& node : nodes_) {
    list_what_is_left();
    if (left_.empty() || !move_to(node, outcomes)) return;
  }
}

// Asks where pages lie; false when the process cannot be asked at all.
bool TierMove::query(std::span<const Index> which) {
  if (which.empty()) return true;
  addresses_.clear();
  for (const auto i : which) addresses_.push_back(pages_[i].address);
  const auto nodes = page_nodes(kernel_, pid_, addresses_);
  if (!nodes) {
    ended_ = nodes.error().code == Error::Code::kNotFound ? ESRCH : EPERM;
    return false;
  }
  for (std::size_t i = 0; i < which.size(); ++i) {
    pages_[which[i]].node = (*nodes)[i];
  }
  return true;
}

// Takes the pages that need no move off the list.
void TierMove::count_what_stays(std::vector<MoveOutcome>& outcomes) {
  std::erase_if(pages_, [&](const Page& page) {
    auto& outcome = outcomes[page.order];
    if (arrived(page)) {
      ++outcome.already_there;
      ++outcome.pages_by_tier[to_];
    } else if (is_absent(page.node)) {
      ++outcome.absent;
    } else {
      return false;
    }
    return true;
  });
}

void TierMove::list_what_is_left() {
  left_.clear();
  for (Index i = 0; i < pages_.size(); ++i) {
    if (!arrived(pages_[i])) left_.push_back(i);
  }
}

void TierMove::cut_into_slots(bool ask_for_huge) {
  slots_.clear();
  if (huge_) huge_->forget();
  Address last_block = 0;
  for (Index i = 0; i < left_.size(); ++i) {
    const Page& page = pages_[left_[i]];
    const Address block =
        ask_for_huge && !page.seen ? huge_->block_of(page.address) : 0;
    if (block != 0 && block == last_block) {
      slots_.back().last = i + 1;
    } else {
      slots_.push_back({page.address, i, i + 1, block != 0});
    }
    last_block = block;
  }
}

// Moves what is left. False when no other node is worth a try.
bool TierMove::move_to(Node& node, std::vector<MoveOutcome>& outcomes) {
  if (node.closed != 0) {
    stop(node.closed);
    return true;
  }
  cut_into_slots(true);
  send(node);
  const bool split = note_huge(outcomes);
  if (split && node.closed == 0 && ended_ == 0) {
    // The kernel cut a huge page up, for want of a free block (migrate.c).
    list_what_is_left();
    cut_into_slots(false);
    send(node);
  }
  return ended_ == 0;
}

// Notes what moved as huge pages; true when one was split and moved in part.
bool TierMove::note_huge(std::vector<MoveOutcome>& outcomes) const {
  bool split = false;
  for (const auto& slot : slots_) {
    if (!slot.huge || !arrived(pages_[left_[slot.first]])) continue;
    split = split || !arrived(pages_[left_[slot.last - 1]]);
    for (auto i = slot.first; i < slot.last; ++i) {
      outcomes[pages_[left_[i]].order].huge = true;
    }
    const auto whole = huge_->bytes() / kernel_.page_bytes();
    outcomes[pages_[left_[slot.first]].order].dragged +=
        whole - std::min<std::uint64_t>(whole, slot.last - slot.first);
  }
  return split;
}

// All slots in batches; less where all further batches would fail alike.
void TierMove::send(Node& node) {
  const std::span<const Slot> slots(slots_);
  for (std::size_t at = 0; at < slots.size() && node.closed == 0;) {
    const auto count =
        fitting(slots.subspan(at, std::min(kPagesPerMove, slots.size() - at)),
                node.room);
    const long got =
        count > 0 ? batch(slots.subspan(at, count), node.id) : -ENOMEM;
    if (ended_ != 0) return;
    if (closes(got)) node.closed = static_cast<int>(-got);
    at += count;
  }
  if (node.closed != 0) stop(node.closed);
}

// How many of the slots, from the first on, the node has room for.
std::size_t TierMove::fitting(std::span<const Slot> slots,
                              NodeRoom& room) const {
  const Bytes page = kernel_.page_bytes();
  const auto bytes = [&](const Slot& slot) {
    return slot.huge ? huge_->bytes() : page;
  };
  Bytes wanted = 0;
  for (const auto& slot : slots) wanted += bytes(slot);
  Bytes left = room.take(wanted);
  if (left >= wanted) return slots.size();
  std::size_t count = 0;
  while (bytes(slots[count]) <= left) left -= bytes(slots[count++]);
  return count;
}

// One call to the kernel, and what is needed to know what it did.
long TierMove::batch(std::span<const Slot> slots, int node) {
  addresses_.clear();
  for (const auto& slot : slots) addresses_.push_back(slot.address);
  to_node_.assign(slots.size(), node);
  status_.assign(slots.size(), kUntouched);
  const long got = kernel_.move_pages(pid_, addresses_, to_node_, status_);
  if (got == -ESRCH || got == -EPERM) {
    ended_ = static_cast<int>(-got);
    return got;
  }
  std::vector<Index> doubtful;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const Slot& slot = slots[s];
    const int status = status_[s];
    // Only a plain success on a base page is believed as it stands.
    const bool plain = got == 0 && status >= 0 && !slot.huge;
    const int reason = why(got, status);
    for (auto i = slot.first; i < slot.last; ++i) {
      Page& page = pages_[left_[i]];
      page.node = status;
      page.reason = reason;
      page.doubted = status == -EBUSY && !slot.huge;
      if (!plain) doubtful.push_back(left_[i]);
    }
  }
  query(doubtful);
  return got;
}

// What is not there and has no cause yet fails for this reason.
void TierMove::stop(int reason) {
  for (auto& page : pages_) {
    if (page.reason == 0) page.reason = reason;
  }
}

void TierMove::settle(const Page& page, MoveOutcome& outcome) const {
  const TierId tier = tier_of(page);
  if (tier != kNoTier) ++outcome.pages_by_tier[tier];
  if (tier == to_) {
    ++outcome.moved;
    // EBUSY and yet there: the tail of a huge page we could not see.
    if (page.reason == EBUSY && page.doubted) outcome.huge = true;
  } else if (page.seen && is_absent(page.node)) {
    ++outcome.absent;  // given back since
  } else {
    const int reason = page.reason != 0 ? page.reason : EBUSY;
    ++outcome.failed[reason];
    outcome.stuck[reason].push_back(page.address);
  }
}

}  // namespace thermocline
