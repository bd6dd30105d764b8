// chase_and_stream: two arrays of one size: the lines of one are chased, those
// of the other read in order, as many of either. Both miss equally often, and
// a miss of the one costs many times a miss of the other.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kPart = 1024;  // lines of one, then of the other
constexpr std::size_t kParts = 64;   // of a step

struct alignas(64) Line {
  std::uint64_t next = 0;  // in the chased array; a number in the other
  std::uint64_t payload[7] = {};
};

class ChaseAndStream final : public Workload {
 public:
  explicit ChaseAndStream(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t count = settings_.bytes / 2 / sizeof(Line);
    Random random(settings_.seed);
    chased_.resize(count);
    streamed_.resize(count);
    std::vector<std::uint32_t> order(count);  // one cycle: Sattolo's shuffle
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = count - 1; i > 0; --i) {
      std::swap(order[i], order[random.below(i)]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      chased_[i].next = order[i];
      chased_[i].payload[0] = mix(i);
      streamed_[i].payload[0] = random.next();
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("chased", chased_), array_of("streamed", streamed_)};
  }

  std::uint64_t step(std::uint64_t) override {
    for (std::size_t part = 0; part < kParts; ++part) {
      for (std::size_t i = 0; i < kPart; ++i) {
        const Line& line = chased_[at_];
        chased_sum_ += line.payload[0];
        at_ = line.next;
      }
      for (std::size_t i = 0; i < kPart; ++i) {
        streamed_sum_ += streamed_[place_++].payload[0];
        if (place_ == streamed_.size()) place_ = 0;
      }
      lines_ += kPart;
    }
    return mix(chased_sum_) ^ streamed_sum_;
  }

  // The chase is followed again, but for the sum of what its lines must hold;
  // whole rounds of the stream are one sum, and the rest is read backwards.
  Status check() override {
    std::uint64_t chased = 0;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < lines_; ++i) {
      chased += mix(at);
      at = chased_[at].next;
    }
    if (at != at_ || chased != chased_sum_) {
      return corrupt("the chase went astray");
    }
    const auto sum = [this](std::size_t count) {
      std::uint64_t all = 0;
      while (count > 0) all += streamed_[--count].payload[0];
      return all;
    };
    const std::uint64_t streamed =
        lines_ / streamed_.size() * sum(streamed_.size()) +
        sum(lines_ % streamed_.size());
    if (streamed != streamed_sum_) return corrupt("the stream lost a line");
    return {};
  }

  void spoil() override { ++streamed_sum_; }

 private:
  WorkloadSettings settings_;
  std::vector<Line> chased_, streamed_;
  std::uint64_t at_ = 0;     // of the chase
  std::size_t place_ = 0;    // of the stream
  std::uint64_t lines_ = 0;  // of either so far
  std::uint64_t chased_sum_ = 0, streamed_sum_ = 0;
};

const RegisterWorkload kEntry{
    "chase_and_stream",
    {"chase and stream: as many lines of one array chased as of another read "
     "in order",
     "both arrays equally by misses; the chased one by time; it never changes",
     false, make_workload<ChaseAndStream>}};

}  // namespace
}  // namespace thermocline
