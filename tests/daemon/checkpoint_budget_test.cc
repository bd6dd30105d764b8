// A job that trains beside the daemon and takes checkpoints out of its budget:
// neither starves, and the slowdown stays within its bound.
//
// Real are the budget, the pool, its writes and the controller; the clock is
// not, and so no other load of the machine has a say. In a millisecond of it
// the daemon moves what it may, always more than there is room for; the job
// trains in what the copies leave of the memory's bandwidth; and who waits for
// the budget waits in it.
#include <gtest/gtest.h>

#include "daemon/budget.h"
#include "tests/training/pool_folder.h"
#include "training/checkpoint.h"
#include "training/checkpoint_interval.h"

namespace thermocline {
namespace {

constexpr Nanos kTick = 1'000'000;
constexpr double kSecondsPerTick = 1e-3;
constexpr Bytes kRate = Bytes{8} << 20;         // of the budget, a second
constexpr double kMemory = 64.0 * (1 << 20);    // of the memory, a second
constexpr double kSnapshot = 64.0 * (1 << 20);  // copied so fast
constexpr double kIteration_s = 0.05;           // alone on the machine
constexpr Bytes kState = Bytes{32} << 20;
constexpr double kMostSlowdown = 0.03;

struct Outcome {
  double seconds = 0;
  int saves = 0;
  double saving_s = 0;
  Bytes saved = 0, moved = 0, moved_while_saving = 0;
};

class World final : public Bandwidth,
                    public std::enable_shared_from_this<World> {
 public:
  enum class When { kNever, kByTheController, kEachIteration };

  World() {
    moves_ = *budget_.add("migration", 1);
    saves_ = *budget_.add("checkpoints", 1);
  }

  // The saver's thread: its chunk is one, and so is its budget's.
  void take(Bytes bytes) override {
    while (budget_.available(saves_, now_) < bytes) tick();
    budget_.take(saves_, bytes);
    copied_ += bytes;
    out_.saved += bytes;
  }
  Bytes take_now(Bytes bytes) override { return bytes; }
  void give_back(Bytes) override {}
  Use use() const override { return {}; }

  Outcome run(CheckpointPool& pool, When when, int iterations) {
    pool.share(shared_from_this());
    ByteVector state(kState, 1);
    while (done_ < iterations) {
      tick();
      const bool wanted = std::exchange(due_, false);
      if (when == When::kNever) continue;
      if (when == When::kEachIteration ? done_ == saved_at_ : !wanted) continue;
      saved_at_ = done_;
      state.assign(state.size(), static_cast<std::uint8_t>(done_));
      save(pool, state);
    }
    out_.seconds = seconds();
    return out_;
  }

 private:
  double seconds() const { return static_cast<double>(now_) * 1e-9; }

  // Training waits for the copy in DRAM, and goes on during the rest.
  void save(CheckpointPool& pool, const ByteVector& state) {
    const double begin = seconds();
    const Bytes moved = out_.moved;
    const double snapshot_s = static_cast<double>(state.size()) / kSnapshot;
    held_ = true;
    while (seconds() - begin < snapshot_s) tick();
    held_ = false;
    const double held_s = seconds() - begin;
    const std::vector<Piece> pieces{{.name = "x", .bytes = state}};
    ASSERT_TRUE(pool.save(pieces, static_cast<std::uint64_t>(done_)));
    if (interval_.costs().iteration_s > 0) {  // it is asked
      interval_.saved(held_s, seconds() - begin);
    }
    ++out_.saves;
    out_.saving_s += seconds() - begin;
    out_.moved_while_saving += out_.moved - moved;
  }

  void tick() {
    now_ += kTick;
    const Bytes moves = budget_.available(moves_, now_);
    budget_.take(moves_, moves);
    out_.moved += moves;
    copied_ += moves;
    // What was copied is taken from the job, of later ticks if need be. While
    // it is held, it has nothing that could be taken.
    const double copying_s =
        static_cast<double>(std::exchange(copied_, 0)) / kMemory;
    if (held_) return;
    trained_s_ += kSecondsPerTick - copying_s;
    if (trained_s_ < kIteration_s) return;
    trained_s_ -= kIteration_s;
    ++done_;
    due_ |= interval_.after_iteration(seconds() -
                                      std::exchange(ended_s_, seconds()));
  }

  Budget budget_{kRate, 0, 0};
  Budget::Id moves_ = 0, saves_ = 0;
  Nanos now_ = 0;
  Bytes copied_ = 0;
  double trained_s_ = 0, ended_s_ = 0;
  int done_ = 0, saved_at_ = 0;
  bool held_ = false, due_ = false;
  CheckpointInterval interval_{{.most_slowdown = kMostSlowdown}};
  Outcome out_;
};

class CheckpointBudget : public ::testing::Test {
 protected:
  static constexpr int kIterations = 3000;
  Outcome outcome(World::When when) {
    const PoolFolder folder;
    auto pool = CheckpointPool::create(folder.path() + "/pool",
                                       {.slot_bytes = kState + (1 << 20)},
                                       {.threads = 1, .incremental = false});
    CHECK(pool);
    return std::make_shared<World>()->run(*pool, when, kIterations);
  }
};

TEST_F(CheckpointBudget, NeitherStarvesAndTheSlowdownHolds) {
  const Outcome without = outcome(World::When::kNever);
  const Outcome with = outcome(World::When::kByTheController);
  ASSERT_GE(with.saves, 5);
  // Each has its half while both want all, but for what a chunk is.
  const double half = static_cast<double>(kRate) / 2 * with.saving_s;
  EXPECT_GE(static_cast<double>(with.saved), 0.9 * half);
  EXPECT_GE(static_cast<double>(with.moved_while_saving), 0.9 * half);
  // Together no more than there is, and what was saved up once.
  EXPECT_LE(static_cast<double>(with.saved + with.moved),
            static_cast<double>(kRate) * (with.seconds + 1));
  EXPECT_LE(with.seconds, (1 + kMostSlowdown) * without.seconds);
  std::printf(
      "%d saves, slowdown %.2f %% of %.0f %%; while saving: saves %.2f, "
      "moves %.2f of their halves\n",
      with.saves, 100 * (with.seconds / without.seconds - 1),
      100 * kMostSlowdown, static_cast<double>(with.saved) / half,
      static_cast<double>(with.moved_while_saving) / half);
}

// The bound is not kept by the world's being kind.
TEST_F(CheckpointBudget, WithoutTheControllerItDoesNotHold) {
  const Outcome without = outcome(World::When::kNever);
  const Outcome with = outcome(World::When::kEachIteration);
  EXPECT_GT(with.seconds, (1 + kMostSlowdown) * without.seconds);
}

}  // namespace
}  // namespace thermocline
