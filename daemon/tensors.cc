#include "daemon/tensors.h"

namespace thermocline {

void TensorTable::born(int pid, const Tensor& tensor) {
  const Key key{pid, tensor.serial};
  const auto at = all_.find(key);
  if (at == all_.end() && alive_ >= most_alive_) {
    ++dropped_;
    return;
  }
  if (at == all_.end() || !at->second.alive) ++alive_;
  all_[key] = {pid,          tensor.serial, tensor.address,
               tensor.bytes, tensor.label,  true};
  if (tensor.died >= 0) died(pid, tensor.serial);
}

void TensorTable::died(int pid, ObjectId serial) {
  const Key key{pid, serial};
  const auto at = all_.find(key);
  if (at == all_.end() || !at->second.alive) return;
  at->second.alive = false;
  --alive_;
  bury(key);
}

void TensorTable::bury(const Key& key) {
  dead_.push_back(key);
  while (dead_.size() > most_dead_) {
    const auto oldest = all_.find(dead_.front());
    // Told of anew meanwhile: then it is not dead.
    if (oldest != all_.end() && !oldest->second.alive) all_.erase(oldest);
    dead_.pop_front();
  }
}

void TensorTable::forget(int pid) {
  for (auto at = all_.lower_bound({pid, 0});
       at != all_.end() && at->first.first == pid;) {
    if (at->second.alive) --alive_;
    at = all_.erase(at);
  }
  std::erase_if(dead_, [&](const Key& key) { return key.first == pid; });
}

std::optional<KnownTensor> TensorTable::find(ObjectId serial, int pid) const {
  if (pid != 0) {
    const auto at = all_.find({pid, serial});
    if (at == all_.end()) return std::nullopt;
    return at->second;
  }
  std::optional<KnownTensor> dead;
  int job = 0;
  // One look-up a job: jump from each pid to the next.
  for (auto at = all_.begin(); at != all_.end();
       at = all_.upper_bound({job, ~ObjectId{0}})) {
    job = at->first.first;
    const auto found = all_.find({job, serial});
    if (found == all_.end()) continue;
    if (found->second.alive) return found->second;
    dead = found->second;
  }
  return dead;
}

}  // namespace thermocline
