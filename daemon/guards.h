// Guards: hold a policy's moves to what is safe, whatever the policy says.
//
// A move passes when it makes sense (the object exists, is movable, lies where
// the move says, at most one move per object), when the destination has room,
// when the budget covers it, and when the object does not bounce: it stays
// where it was moved for `residence` windows before it may move back, and that
// time doubles each time it does move back soon, unless its stay in fast memory
// had paid (payback.h): what a job uses phase by phase may come and go with
// them. Demotions pass before promotions, so that their room counts; and no
// room is made for what may not come, or half of a swap would leave fast memory
// empty. A promotion must earn its copy back. Brakes hold all moves of a target
// for a while. Every refusal is counted by cause, and every guard can be
// switched off.
//
// Thread safety: none; one instance per target, by its thread.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/blacklist.h"
#include "daemon/payback.h"
#include "daemon/slowdown_watch.h"
#include "daemon/thrash_watch.h"
#include "policies/policy.h"

namespace thermocline {

enum class Refusal : std::uint8_t {
  kNone = 0,
  kInvalid,    // no such object or tier, twice, or to where it is
  kStale,      // the object does not lie where the move says
  kUnmovable,  // bound by the job, refused by the kernel lately, or empty
  kCapacity,   // no room in the destination
  kBudget,     // more bytes than moves may use now
  kResidence,  // would move back too soon
  kPingPong,   // moves back and forth, and must wait longer each time
  kInFlight,   // the target's last batch is still on its way
  // Brakes: for the time being, none of the target's moves is made.
  kPressure,   // the system is short of memory (pressure.h)
  kOomMargin,  // very short
  kSlowdown,   // the job became slower (slowdown_watch.h)
  kThrashing,  // hot memory is exchanged for hot memory (thrash_watch.h)
  kNoPayback,  // would not earn its copy back (payback.h)
  kNeedless,   // would make room for what may not come
};
inline constexpr std::size_t kRefusals = 15;
const char* refusal_name(Refusal why);

class Guards {
 public:
  struct Options {
    std::int64_t residence = 2;      // windows; 0: neither of the next two
    bool residence_holds = true;     // false: no such guard
    bool ping_pong_holds = true;     // likewise
    std::int64_t failures_wait = 4;  // windows an object that failed is left
    bool needless = true;            // false: no such guard
    Payback::Options payback;
    // Brakes on all moves of the target.
    SlowdownWatch::Options slowdown;
    ThrashWatch::Options thrash;
    Blacklist::Options blacklist;
  };
  explicit Guards(Options options)
      : options_(options), payback_(options.payback) {}

  /// From now on these; what is known of objects stays.
  void set(const Options& options) {
    options_ = options;
    payback_.set(options.payback);
  }

  /// The moves that may be made, demotions first. `bytes_to_move` is what a
  /// move of the object to a tier would carry. `hold`: why none may be made
  /// for the time being; but a brake never keeps a target from giving up what
  /// it holds of a tier beyond its capacity.
  using BytesToMove = std::function<Bytes(ObjectId, TierId)>;
  std::vector<Move> admit(const View& view, const std::vector<Move>& moves,
                          const BytesToMove& bytes_to_move,
                          Refusal hold = Refusal::kNone);

  Payback& payback() { return payback_; }
  const Payback& payback() const { return payback_; }
  /// Whether that move takes the object back to where it came from in one of
  /// the last `windows` windows.
  bool returns(const Move& move, std::int64_t window,
               std::int64_t windows) const;

  /// Remembers that the object did move in this window; `paid`: of a demotion,
  /// that its stay in fast memory had been worth it.
  void moved(const Move& move, std::int64_t window, bool paid = false);
  /// Remembers that most of it would not move: it is left alone for a while,
  /// twice as long each time.
  void failed(ObjectId object, std::int64_t window);
  /// True while the object is left alone after a failure.
  bool resting(ObjectId object, std::int64_t window) const;

  /// When the object moved last, and from where; none: not yet.
  struct LastMove {
    std::int64_t window = 0;
    TierId from = kNoTier;
  };
  std::optional<LastMove> last_move(ObjectId object) const;

  // What is to be known of an object after a restart, in windows from now.
  struct Memory {
    std::int32_t moved_ago = -1;  // -1: never
    std::int32_t rest = 0;        // left alone for so long
    TierId came_from = kNoTier;
    std::uint8_t bounces = 0;
    std::uint8_t failures = 0;
    bool empty() const { return moved_ago < 0 && rest <= 0 && failures == 0; }
  };
  Memory memory(ObjectId object, std::int64_t window) const;
  void recall(ObjectId object, const Memory& memory, std::int64_t window);

  const std::array<std::uint64_t, kRefusals>& refused() const {
    return refused_;
  }
  /// One sentence on the last refusal of this object, or empty.
  std::string last_refusal(ObjectId object) const;

 private:
  struct State {
    std::int64_t moved_at = -1;  // window; -1: never
    std::int64_t rest_until = -1;
    std::int64_t refused_at = -1;
    TierId came_from = kNoTier;
    std::uint8_t bounces = 0;
    std::uint8_t failures = 0;
    bool paid = false;  // its last stay in fast memory
    Refusal refusal = Refusal::kNone;
  };
  struct Wish {
    Move move;
    Bytes bytes = 0;
    Refusal barred = Refusal::kNone;  // whatever room and budget there are
    bool demotion() const { return move.to > move.from; }
  };
  Refusal barred(const View& view, const Move& move, Bytes bytes) const;
  static Refusal judge(const View& view, const Wish& wish,
                       const std::vector<Bytes>& used, Bytes budget);
  static std::vector<Bytes> to_leave(std::size_t tiers,
                                     const std::vector<Wish>& wishes);
  Refusal bouncing(const State& state, const Move& move,
                   std::int64_t window) const;

  Options options_;
  Payback payback_;
  std::vector<State> states_;
  std::array<std::uint64_t, kRefusals> refused_{};
};

}  // namespace thermocline
