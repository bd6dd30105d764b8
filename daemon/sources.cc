#include "daemon/sources.h"

#include <algorithm>

namespace thermocline {
namespace {

// The long one also because a source whose far end is closed is "readable"
// without end.
constexpr Nanos kRest = 20'000'000;
constexpr Nanos kLongRest = 100'000'000;
constexpr std::size_t kManySamples = 4'096;

}  // namespace

Nanos rest_after(std::size_t count, double dilation) {
  if (count >= kManySamples) return 0;
  if (count == 0) return static_cast<Nanos>(kLongRest * dilation);
  const double until_many = static_cast<double>(kManySamples / count);
  return static_cast<Nanos>(kRest * std::min(dilation, until_many));
}

bool Sources::per_target() const {
  return source_.starts_with("perf") || source_.starts_with("pages");
}

Result<Sources> Sources::open(const std::string& source) {
  Sources sources(source);
  if (sources.per_target()) return sources;
  auto sampler = open_sampler(source, 0);
  if (!sampler) return sampler.error();
  sources.all_.push_back({0, *std::move(sampler), 0});
  return sources;
}

Status Sources::follow(const std::vector<int>& pids) {
  if (!per_target()) return {};
  std::erase_if(all_, [&](const One& one) {
    return std::find(pids.begin(), pids.end(), one.pid) == pids.end();
  });
  Status status;
  for (const int pid : pids) {
    const bool known =
        std::any_of(all_.begin(), all_.end(),
                    [&](const One& one) { return one.pid == pid; });
    if (known) continue;
    auto sampler = open_sampler(source_, pid);
    all_.push_back({pid, nullptr, 0});
    if (sampler) {
      all_.back().sampler = *std::move(sampler);
    } else if (status) {
      status = sampler.error();
    }
  }
  return status;
}

int Sources::watch(std::vector<pollfd>& into, Nanos now) const {
  int wait = -1;
  for (const auto& one : all_) {
    if (!one.sampler || one.sampler->descriptor() < 0) continue;
    if (one.rests_until <= now) {
      into.push_back({one.sampler->descriptor(), POLLIN, 0});
      continue;
    }
    const int left = static_cast<int>((one.rests_until - now) / 1'000'000) + 1;
    wait = wait < 0 ? left : std::min(wait, left);
  }
  return wait;
}

void Sources::read(Service& service, Nanos now, bool all) {
  for (auto& one : all_) {
    if (!one.sampler) continue;
    if (!all && (one.rests_until > now || one.sampler->descriptor() < 0)) {
      continue;
    }
    auto batch = one.sampler->read(std::chrono::milliseconds(0));
    const std::string name = "source " + source_;
    if (!batch) {
      service.notice(name + " failed, and no more samples will come: " +
                     batch.error().message);
      one.sampler.reset();
      continue;
    }
    service.add(*batch, one.pid);
    one.rests_until =
        now + rest_after(batch->samples.size(), service.dilation());
    if (batch->ended) {
      service.notice(name + " has ended: no more samples will come");
      one.sampler.reset();
    }
  }
}

}  // namespace thermocline
