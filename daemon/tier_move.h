// TierMove: moves the pages bound for one tier, some neighbours at a time.
//
// The pages of all orders are gone through in the order of their addresses, in
// windows of kPagesPerMove, each looked at, moved and settled before the next:
// the lists stay in the cache, and their memory does not grow with the orders.
// A window ends between huge pages, never inside one.
//
// Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/huge_pages.h"
#include "daemon/mover.h"
#include "daemon/node_room.h"
#include "daemon/page_nodes.h"

namespace thermocline {

// Pages handed to the kernel in one call: the caller is blocked for the time
// of the copies, so calls stay short; below 512 the calls themselves cost.
inline constexpr std::size_t kPagesPerMove = 1024;

class TierMove {
 public:
  /// Requires: kernel and machine outlive this.
  TierMove(Kernel& kernel, const Machine& machine, int pid, TierId to);

  /// Carries out those of the orders that lead to the tier. Requires:
  /// outcomes[i] is of orders[i]. Call once.
  void run(std::span<const MoveOrder> orders,
           std::vector<MoveOutcome>& outcomes);

 private:
  // An index into the lists below.
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

  struct Node {
    int id = 0;
    NodeRoom room;
    int closed = 0;  // errno: no further batch can succeed here
  };

  void list_mine(std::span<const MoveOrder> orders);
  bool next_window(std::span<const MoveOrder> orders);
  void move_window(std::vector<MoveOutcome>& outcomes);
  bool move_to(Node& node, std::vector<MoveOutcome>& outcomes);
  bool query(std::span<const Index> which);
  void count_what_stays(std::vector<MoveOutcome>& outcomes);
  void list_what_is_left();
  void cut_into_slots(bool ask_for_huge);
  bool note_huge(std::vector<MoveOutcome>& outcomes) const;
  void send(Node& node);
  std::size_t fitting(std::span<const Slot> slots, NodeRoom& room) const;
  long batch(std::span<const Slot> slots, int node);
  void stop(int reason);
  void settle(const Page& page, MoveOutcome& outcome) const;

  TierId tier_of(const Page& page) const;
  bool arrived(const Page& page) const { return tier_of(page) == to_; }

  Kernel& kernel_;
  const Machine& machine_;
  int pid_;
  TierId to_;
  // Machine::tier_of_node as a table: asked thrice a page, a tenth of the work.
  std::vector<TierId> tier_of_node_;
  std::vector<Node> nodes_;
  std::optional<HugePages> huge_;  // only where some order has to ask
  int ended_ = 0;                  // errno: the process cannot be moved at all

  std::vector<Index> mine_;  // the orders, by their first address
  std::size_t at_ = 0;       // of mine_, the next to be gone through
  std::size_t page_ = 0;     // of its pages

  // The window.
  std::vector<Page> pages_;
  std::vector<Index> left_;  // indices of pages_ that have not arrived
  std::vector<Slot> slots_;

  // One call.
  std::vector<Address> addresses_;
  std::vector<int> to_node_;
  std::vector<int> status_;
};

}  // namespace thermocline
