#include "daemon/move_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "daemon/page_moves.h"

namespace thermocline {
namespace {

// A mover that throws has moved who knows what: nothing is claimed.
std::vector<MoveOutcome> all_failed(const std::vector<MoveOrder>& orders) {
  std::vector<MoveOutcome> out;
  for (const auto& order : orders) {
    MoveOutcome outcome = outcome_of(order);
    outcome.failed[EIO] = order.pages.size();
    out.push_back(std::move(outcome));
  }
  return out;
}

}  // namespace

MoveThread::MoveThread(Kernel& kernel, const Machine& machine, Mover& mover,
                       bool thread)
    : kernel_(kernel), machine_(machine), mover_(mover) {
  if (!thread || !kernel.any_thread()) return;
  event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

MoveThread::~MoveThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (event_ >= 0) ::close(event_);
}

MoveThread::Done MoveThread::carry_out(Batch batch) {
  Done done;
  done.extents = extents_of(batch.orders, kernel_.page_bytes());
  const Nanos began = kernel_.now();
  try {
    done.outcomes = mover_.move(kernel_, machine_, batch.pid, batch.orders);
  } catch (const std::exception&) {
    done.outcomes = all_failed(batch.orders);
  }
  done.took_ns = kernel_.now() - began;
  done.batch = std::move(batch);
  return done;
}

void MoveThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    Batch batch = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = batch.owner;
    lock.unlock();
    Done done = carry_out(std::move(batch));
    lock.lock();
    running_.reset();
    done_.push_back(std::move(done));
    const std::uint64_t one = 1;
    (void)!::write(event_, &one, sizeof one);
    changed_.notify_all();
  }
}

void MoveThread::submit(Batch batch) {
  if (event_ < 0) {
    done_.push_back(carry_out(std::move(batch)));
    return;
  }
  const std::lock_guard lock(mutex_);
  CHECK(running_ != batch.owner);
  CHECK(std::none_of(waiting_.begin(), waiting_.end(), [&](const Batch& other) {
    return other.owner == batch.owner;
  }));
  waiting_.push_back(std::move(batch));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

std::vector<MoveThread::Done> MoveThread::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  if (event_ >= 0) (void)!::read(event_, &count, sizeof count);
  return std::exchange(done_, {});
}

bool MoveThread::drop(std::uint64_t owner) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(waiting_, [&](const Batch& batch) {
           return batch.owner == owner;
         }) > 0;
}

void MoveThread::finish() {
  if (event_ < 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !running_; });
}

MoveTotals totals_of(const MoveThread::Done& done, Bytes page) {
  MoveTotals totals;
  totals.extents = done.extents;
  totals.calls_ns = static_cast<std::uint64_t>(done.took_ns);
  for (const auto& outcome : done.outcomes) {
    if (outcome.moved > 0) {
      totals.moved[{outcome.from, outcome.to}] += outcome.moved * page;
      totals.dragged += outcome.dragged * page;
    }
    for (const auto& [reason, pages] : outcome.failed) {
      totals.failed[reason] += pages;
    }
  }
  return totals;
}

}  // namespace thermocline
