#include "tracer/page_sharing.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <vector>

#include "traces/iterations.h"

namespace thermocline {
namespace {

struct Span {
  Nanos from = 0;
  Nanos to = 0;
};

Nanos death(const Tensor& tensor) {
  return tensor.died < 0 ? std::numeric_limits<Nanos>::max() : tensor.died;
}

bool lives_in(const Tensor& tensor, const Span& span) {
  return tensor.born < span.to && death(tensor) > span.from;
}

// Every tensor's class: the whole trace is told to TensorHabits, each tensor
// with a key of its own.
std::unordered_map<ObjectId, std::size_t> classes(
    const Trace& trace, const std::vector<Nanos>& steps,
    const TensorHeat::Options& options) {
  struct Event {
    Nanos time;
    int rank;  // of what happens at one instant
    std::function<void(TensorHabits&)> tell;
  };
  std::vector<Event> events;
  for (const auto& tensor : trace.tensors) {
    events.push_back({tensor.born, 0, [&tensor](TensorHabits& habits) {
                        habits.born(tensor.serial, tensor.serial, tensor.bytes);
                      }});
    if (tensor.died < 0) continue;
    events.push_back({tensor.died, 2, [&tensor](TensorHabits& habits) {
                        habits.died(tensor.serial);
                      }});
  }
  for (const auto& op : trace.operators) {
    events.push_back({op.end, 1, [&op](TensorHabits& habits) {
                        habits.used(op.reads, op.writes);
                      }});
  }
  for (const auto time : steps) {
    events.push_back(
        {time, 3, [](TensorHabits& habits) { habits.end_step(true); }});
  }
  std::stable_sort(
      events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.time != b.time ? a.time < b.time : a.rank < b.rank;
      });
  TensorHabits habits;
  for (const auto& event : events) event.tell(habits);
  habits.end_step(true);  // what still lives had its last iteration cut short
  const TensorHeat heat(options, habits.all(), habits.step_operators());
  std::unordered_map<ObjectId, std::size_t> out;
  for (const auto& [key, habit] : habits.all()) {
    out[static_cast<ObjectId>(key)] = heat.class_of(habit);
  }
  return out;
}

class Pages {
 public:
  explicit Pages(Bytes page) : page_(page) {}
  // Calls use(page number, bytes of the tensor on it).
  template <typename Use>
  void each(const Tensor& tensor, Use use) const {
    const Address end = tensor.address + tensor.bytes;
    for (auto page = tensor.address / page_; page * page_ < end; ++page) {
      use(page, std::min(end, (page + 1) * page_) -
                    std::max(tensor.address, page * page_));
    }
  }
  Bytes bytes() const { return page_; }

 private:
  Bytes page_;
};

// The instant in the span at which most bytes were alive.
Nanos peak(const std::vector<const Tensor*>& tensors, const Span& span) {
  std::vector<std::pair<Nanos, std::int64_t>> changes;
  for (const auto* tensor : tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor->bytes);
    changes.emplace_back(std::max(tensor->born, span.from), bytes);
    if (death(*tensor) < span.to) changes.emplace_back(tensor->died, -bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, most = -1;
  Nanos at = span.from;
  for (const auto& [time, bytes] : changes) {
    live += bytes;
    if (live > most) {
      most = live;
      at = time;
    }
  }
  return at;
}

}  // namespace

Result<PageSharing> page_sharing(const Trace& trace,
                                 const TensorHeat::Options& options) {
  if (trace.tensors.empty()) {
    return invalid(
        "the trace has no tensors; record a job with LibTorch, without "
        "--no-tensors");
  }
  const auto steps = find_iterations(trace).starts;
  if (steps.size() < 2) {
    return invalid("the trace has no two iterations; record more of the job");
  }
  const Span last{steps[steps.size() - 2], steps.back()};
  const auto class_of = classes(trace, steps, options);
  std::vector<const Tensor*> tensors;
  std::unordered_map<ObjectId, const Tensor*> by_serial;
  for (const auto& tensor : trace.tensors) {
    if (!lives_in(tensor, last)) continue;
    tensors.push_back(&tensor);
    by_serial[tensor.serial] = &tensor;
  }
  PageSharing out;
  out.tensors = tensors.size();
  const Pages pages(trace.info.page_bytes);

  const Nanos most = peak(tensors, last);
  struct Page {
    bool at_peak = false;
    bool shared = false;
    std::size_t first_class = 0;
    bool known = false;
    double traffic = 0;
  };
  std::unordered_map<std::uint64_t, Page> all;
  for (const auto* tensor : tensors) {
    const bool at_peak = tensor->born <= most && death(*tensor) > most;
    if (at_peak) out.live_bytes += tensor->bytes;
    const auto known = class_of.find(tensor->serial);
    pages.each(*tensor, [&](std::uint64_t number, Bytes) {
      auto& page = all[number];
      page.at_peak = page.at_peak || at_peak;
      if (known == class_of.end()) return;  // nothing was seen of it
      page.shared =
          page.shared || (page.known && page.first_class != known->second);
      page.known = true;
      page.first_class = known->second;
    });
  }
  double traffic = 0;
  for (const auto& op : trace.operators) {
    if (op.end <= last.from || op.end > last.to) continue;
    for (const auto* list : {&op.reads, &op.writes}) {
      for (const auto serial : *list) {
        const auto at = by_serial.find(serial);
        if (at == by_serial.end()) continue;
        pages.each(*at->second, [&](std::uint64_t number, Bytes bytes) {
          all[number].traffic += static_cast<double>(bytes);
          traffic += static_cast<double>(bytes);
        });
      }
    }
  }
  out.least_pages = (out.live_bytes + pages.bytes() - 1) / pages.bytes();
  std::vector<double> hottest;
  for (const auto& [number, page] : all) {
    out.pages += page.at_peak;
    out.shared_pages += page.shared;
    hottest.push_back(page.traffic);
  }
  out.ever_pages = all.size();
  std::sort(hottest.begin(), hottest.end(), std::greater<>());
  double served = 0;
  for (std::size_t i = 0;
       i < std::min<std::size_t>(hottest.size(), out.least_pages / 5); ++i) {
    served += hottest[i];
  }
  out.hottest_fifth = traffic > 0 ? served / traffic : 0;
  return out;
}

}  // namespace thermocline
