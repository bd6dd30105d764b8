#include "training/ranks/thread_ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

namespace thermocline {
namespace {

// One rank's part of a window, as the others see it.
struct Part {
  std::mutex mutex;
  std::span<std::byte> memory;
};

// What all ranks share. The barrier also hands over one pointer a rank, which
// is how the collective calls meet.
class Hall {
 public:
  Hall(int count, double seconds)
      : count_(count), limit_(seconds), gifts_(size(), nullptr) {}

  int count() const { return count_; }

  /// Leaves `gift` for the others and returns everybody's, which stay good
  /// until this rank meets again.
  Result<std::vector<void*>> meet(int rank, void* gift) {
    std::unique_lock lock(mutex_);
    if (broken_) {
      return io("another rank has given up waiting; it says for whom");
    }
    gifts_[static_cast<std::size_t>(rank)] = gift;
    ++here_;
    const std::uint64_t round = round_;
    if (here_ == count_) {
      here_ = 0;
      ++round_;
      met_ = gifts_;
      std::fill(gifts_.begin(), gifts_.end(), nullptr);
      present_.assign(size(), false);
      arrived_.notify_all();
      return met_;
    }
    present_.resize(size(), false);
    present_[static_cast<std::size_t>(rank)] = true;
    const bool all =
        arrived_.wait_for(lock, std::chrono::duration<double>(limit_),
                          [&] { return round_ != round; });
    if (all) return met_;
    broken_ = true;
    std::string missing;
    for (std::size_t r = 0; r < size(); ++r) {
      if (!present_[r]) missing += " " + std::to_string(r);
    }
    return io("rank" + missing + " did not reach the barrier within " +
              std::to_string(static_cast<int>(limit_)) +
              " s; see what it waits for, or allow more");
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(count_); }

  int count_;
  double limit_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  int here_ = 0;
  bool broken_ = false;
  std::uint64_t round_ = 0;
  std::vector<void*> gifts_;
  std::vector<void*> met_;
  std::vector<bool> present_;
};

class ThreadWindow final : public Window {
 public:
  ThreadWindow(Hall& hall, int rank, std::vector<std::byte> own,
               std::span<std::byte> memory)
      : hall_(hall), rank_(rank), own_(std::move(own)) {
    mine_.memory = own_.empty() ? memory : std::span(own_);
  }
  ~ThreadWindow() override {
    // Nobody may still be writing here.
    if (open_) (void)hall_.meet(rank_, nullptr);
  }
  Status open() {
    auto met = hall_.meet(rank_, &mine_);
    if (!met) return met.error();
    for (void* part : *met) parts_.push_back(static_cast<Part*>(part));
    open_ = true;
    return {};
  }

  std::span<std::byte> local() override { return mine_.memory; }

  void put(int rank, std::size_t offset,
           std::span<const std::byte> from) override {
    with(rank, offset, from.size(),
         [&](std::byte* at) { std::memcpy(at, from.data(), from.size()); });
  }
  void get(int rank, std::size_t offset, std::span<std::byte> to) override {
    with(rank, offset, to.size(),
         [&](const std::byte* at) { std::memcpy(to.data(), at, to.size()); });
  }
  void add(int rank, std::size_t offset,
           std::span<const float> delta) override {
    with(rank, offset, delta.size_bytes(), [&](std::byte* at) {
      for (const float d : delta) {
        float value = 0;
        std::memcpy(&value, at, sizeof value);
        value += d;
        std::memcpy(at, &value, sizeof value);
        at += sizeof value;
      }
    });
  }
  void read(int rank, std::size_t offset, std::span<float> to) override {
    get(rank, offset, std::as_writable_bytes(to));
  }
  std::int64_t fetch_add(int rank, std::size_t offset,
                         std::int64_t delta) override {
    std::int64_t before = 0;
    with(rank, offset, sizeof before, [&](std::byte* at) {
      std::memcpy(&before, at, sizeof before);
      const std::int64_t after = before + delta;
      std::memcpy(at, &after, sizeof after);
    });
    return before;
  }
  Status flush() override { return {}; }

 private:
  void with(int rank, std::size_t offset, std::size_t bytes,
            const auto& action) {
    CHECK(rank >= 0 && rank < hall_.count());
    Part& part = *parts_[static_cast<std::size_t>(rank)];
    CHECK(offset <= part.memory.size() && bytes <= part.memory.size() - offset);
    if (bytes == 0) return;
    const std::lock_guard lock(part.mutex);
    action(part.memory.data() + offset);
  }

  Hall& hall_;
  int rank_;
  bool open_ = false;
  std::vector<std::byte> own_;
  Part mine_;
  std::vector<Part*> parts_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(std::shared_ptr<Hall> hall, int rank)
      : hall_(std::move(hall)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hall_->count(); }
  Status barrier() override {
    if (auto met = hall_->meet(rank_, nullptr); !met) return met.error();
    return {};
  }
  Result<std::unique_ptr<Window>> window(std::size_t bytes) override {
    return opened(std::vector<std::byte>(bytes), {});
  }
  Result<std::unique_ptr<Window>> window_over(
      std::span<std::byte> memory) override {
    return opened({}, memory);
  }
  Result<std::vector<std::int64_t>> gather(std::int64_t mine) override {
    const auto met = hall_->meet(rank_, &mine);
    if (!met) return met.error();
    std::vector<std::int64_t> out;
    for (const void* one : *met) {
      out.push_back(*static_cast<const std::int64_t*>(one));
    }
    if (auto ok = barrier(); !ok) return ok.error();  // `mine` ends here
    return out;
  }
  Status sum(std::span<float> values) override {
    const std::vector<float> mine(values.begin(), values.end());
    const auto met = hall_->meet(
        rank_, const_cast<std::vector<float>*>(&mine));  // NOLINT: read only
    if (!met) return met.error();
    std::fill(values.begin(), values.end(), 0.0F);
    for (const void* one : *met) {
      const auto& theirs = *static_cast<const std::vector<float>*>(one);
      CHECK(theirs.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += theirs[i];
    }
    return barrier();
  }

 private:
  Result<std::unique_ptr<Window>> opened(std::vector<std::byte> own,
                                         std::span<std::byte> memory) {
    auto out =
        std::make_unique<ThreadWindow>(*hall_, rank_, std::move(own), memory);
    if (auto ok = out->open(); !ok) return ok.error();
    return std::unique_ptr<Window>(std::move(out));
  }

  std::shared_ptr<Hall> hall_;
  int rank_;
};

}  // namespace

void run_as_threads(int count, const std::function<void(Ranks&)>& work,
                    double seconds) {
  CHECK(count >= 1);
  const auto hall = std::make_shared<Hall>(count, seconds);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(hall, rank);
      work(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::unique_ptr<Ranks> single_rank() {
  return std::make_unique<ThreadRanks>(std::make_shared<Hall>(1, 1.0), 0);
}

}  // namespace thermocline
