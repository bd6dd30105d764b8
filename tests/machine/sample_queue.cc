#include "tests/machine/sample_queue.h"

namespace thermocline {

void SampleQueue::put(const std::string& record) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  if (queued_.size() + record.size() > kCapacity) {
    ++missing_;
    ++lost_;
    return;
  }
  if (missing_ != 0) {
    queued_ += stream_.lost(missing_);
    missing_ = 0;
  }
  queued_ += record;
  ++written_;
}

void SampleQueue::begin(std::string header) {
  const std::lock_guard lock(mutex_);
  queued_ = std::move(header);
  sending_.clear();
  sent_ = 0;
  missing_ = 0;
  written_ = 0;
  lost_ = 0;
  open_ = true;
}

void SampleQueue::end() {
  const std::lock_guard lock(mutex_);
  if (open_ && missing_ != 0) queued_ += stream_.lost(missing_);
  missing_ = 0;
  open_ = false;
}

bool SampleQueue::empty() {
  const std::lock_guard lock(mutex_);
  return queued_.empty() && sent_ == sending_.size();
}

bool SampleQueue::drain(Port& port) {
  if (sent_ == sending_.size()) {
    sending_.clear();
    sent_ = 0;
    const std::lock_guard lock(mutex_);
    if (queued_.empty()) return true;
    sending_.swap(queued_);
    sending_ += stream_.finished_round();
  }
  sent_ += port.write(sending_.data() + sent_, sending_.size() - sent_);
  return sent_ == sending_.size();
}

}  // namespace thermocline
