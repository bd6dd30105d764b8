#include "daemon/budget.h"

#include <algorithm>
#include <utility>

namespace thermocline {

Budget::Budget(Bytes bytes_per_s, Bytes least, Nanos now)
    : rate_(bytes_per_s), least_(least), common_(0), filled_at_(now) {
  common_ = size();
}

double Budget::size() const {
  return rate_ == 0 ? 0 : static_cast<double>(std::max(rate_, least_));
}

void Budget::set_rate(Bytes bytes_per_s) {
  rate_ = bytes_per_s;
  const double before = saved();
  const double keep = before > 0 ? std::min(1.0, size() / before) : 1.0;
  common_ *= keep;
  for (auto& account : accounts_) {
    if (account.level > 0) account.level *= keep;
  }
}

double Budget::saved() const {
  double sum = common_;
  for (const auto& account : accounts_) sum += std::max(0.0, account.level);
  return sum;
}

double Budget::share(const Account& account) const {
  double all = 0;
  for (const auto& one : accounts_) all += one.open ? one.use.weight : 0;
  return account.open && all > 0 ? account.use.weight / all : 0;
}

Result<Budget::Id> Budget::add(std::string name, double weight) {
  if (name.empty()) return invalid("a consumer of the budget needs a name");
  if (!(weight > 0)) return invalid("a consumer's weight must be above 0");
  std::size_t at = accounts_.size();
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    if (!accounts_[i].open) at = i;
    if (accounts_[i].open && accounts_[i].use.name == name) {
      return invalid("\"" + name + "\" uses the budget already");
    }
  }
  if (at == accounts_.size()) accounts_.emplace_back();
  accounts_[at] = {{std::move(name), weight, 0}, 0, true};
  return static_cast<Id>(at);
}

void Budget::remove(Id id) {
  auto& account = accounts_[id];
  common_ = std::max(0.0, common_ + account.level);
  account = {};
}

void Budget::put(Account& account, double bytes) {
  const double most = rate_ == 0 ? 0
                                 : std::max(size() * share(account),
                                            static_cast<double>(least_));
  const double own = std::min(bytes, std::max(0.0, most - account.level));
  account.level += own;
  const double levels = saved() - common_;
  common_ =
      std::clamp(common_ + bytes - own, 0.0, std::max(0.0, size() - levels));
}

void Budget::fill(Nanos now) {
  const auto passed = static_cast<double>(std::max<Nanos>(0, now - filled_at_));
  filled_at_ = now;
  const double bytes = passed * 1e-9 * static_cast<double>(rate_);
  for (auto& account : accounts_) put(account, bytes * share(account));
}

Bytes Budget::available(Id id, Nanos now) {
  fill(now);
  return static_cast<Bytes>(std::max(0.0, accounts_[id].level + common_));
}

void Budget::take(Id id, Bytes bytes) {
  auto& account = accounts_[id];
  account.use.taken += bytes;
  const auto wanted = static_cast<double>(bytes);
  const double own = std::clamp(account.level, 0.0, wanted);
  const double left_over = std::min(common_, wanted - own);
  common_ -= left_over;
  account.level -= wanted - left_over;
}

void Budget::give_back(Id id, Bytes bytes) {
  auto& account = accounts_[id];
  account.use.taken -= std::min(account.use.taken, bytes);
  put(account, static_cast<double>(bytes));
}

std::vector<Budget::Use> Budget::uses() const {
  std::vector<Use> out;
  for (const auto& account : accounts_) {
    if (account.open) out.push_back(account.use);
  }
  return out;
}

}  // namespace thermocline
