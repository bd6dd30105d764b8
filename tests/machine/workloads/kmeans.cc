// kmeans: Lloyd's algorithm on mini-batches out of one shard of the points
// after another.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kDimensions = 16;
constexpr std::size_t kClusters = 8;
constexpr std::size_t kShards = 16;
constexpr std::uint64_t kStay = 4;      // iterations on a shard's mini-batch
constexpr std::size_t kBatch = 32'768;  // points

template <typename Number>
using Vector = std::array<Number, kDimensions>;

class KMeans final : public Workload {
 public:
  explicit KMeans(const WorkloadSettings& s) : settings_(s) {}

  // A shard's clusters lie a little apart from the last shard's, as in data
  // that were gathered over time.
  void prepare() override {
    shard_ = settings_.bytes / sizeof(Vector<float>) / kShards;
    Random random(settings_.seed);
    std::array<Vector<float>, kClusters> centres;
    for (auto& centre : centres) {
      for (float& x : centre) x = static_cast<float>(random.unit() * 4);
    }
    points_.reserve(shard_ * kShards);
    for (std::size_t i = 0; i < shard_ * kShards; ++i) {
      Vector<float> point = centres[random.below(kClusters)];
      const float drift = static_cast<float>(i / shard_) * 0.25F;
      for (std::size_t d = 0; d < kDimensions; d += 4) {
        const std::uint64_t bits = random.next();
        for (std::size_t k = 0; k < 4; ++k) {
          const auto noise = static_cast<float>(bits >> (16 * k) & 0xffff);
          point[d + k] += noise * 0x1p-16F + drift;
        }
      }
      points_.push_back(point);
    }
    for (std::size_t k = 0; k < kClusters; ++k) centroids_[k] = points_[k * 7];
  }

  std::vector<Array> arrays() const override {
    return {array_of("points", points_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    index_ = index;
    std::array<Vector<double>, kClusters> sums{};
    std::array<std::uint64_t, kClusters> counts{};
    double inertia = 0;
    for_batch(index, [&](const Vector<float>& point) {
      std::size_t nearest = 0;
      float least = distance<float>(point, centroids_[0]);
      for (std::size_t k = 1; k < kClusters; ++k) {
        const float d = distance<float>(point, centroids_[k]);
        if (d < least) least = d, nearest = k;
      }
      inertia += static_cast<double>(least);
      ++counts[nearest];
      for (std::size_t d = 0; d < kDimensions; ++d) {
        sums[nearest][d] += static_cast<double>(point[d]);
      }
    });
    for (std::size_t k = 0; k < kClusters; ++k) {
      for (std::size_t d = 0; d < kDimensions && counts[k] > 0; ++d) {
        centroids_[k][d] =
            static_cast<float>(sums[k][d] / static_cast<double>(counts[k]));
      }
    }
    if (index % kStay > 0 && inertia > inertia_ * (1 + 1e-6)) rises_ = true;
    inertia_ = inertia;
    Digest digest;
    digest.add(inertia);
    return digest.value();
  }

  // Lloyd's theorem: on the same points inertia never rises. The last
  // iteration's is computed anew, plainly and in double precision.
  Status check() override {
    if (rises_) return corrupt("inertia rose while the points were the same");
    double inertia = 0;
    for_batch(index_, [&](const Vector<float>& point) {
      double least = distance<double>(point, centroids_[0]);
      for (const auto& centroid : centroids_) {
        least = std::min(least, distance<double>(point, centroid));
      }
      inertia += least;
    });
    if (inertia <= inertia_ * (1 + 1e-6)) return {};
    return corrupt("the centroids are worse than those before them");
  }

  void spoil() override {
    for (auto& centroid : centroids_) centroid[3] += 100;
  }

 private:
  // The same points in all iterations on a shard.
  template <typename Use>
  void for_batch(std::uint64_t index, Use use) const {
    const std::uint64_t stay = index / kStay;
    const Vector<float>* const shard = &points_[stay % kShards * shard_];
    Random random(settings_.seed, stay);
    for (std::size_t i = 0; i < kBatch; ++i) use(shard[random.below(shard_)]);
  }

  template <typename Number>
  static Number distance(const Vector<float>& a, const Vector<float>& b) {
    Number sum = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const Number off = static_cast<Number>(a[d]) - static_cast<Number>(b[d]);
      sum += off * off;
    }
    return sum;
  }

  WorkloadSettings settings_;
  std::vector<Vector<float>> points_;
  std::array<Vector<float>, kClusters> centroids_{};
  std::size_t shard_ = 0;  // points in one
  std::uint64_t index_ = 0;
  double inertia_ = 0;
  bool rises_ = false;
};

const RegisterWorkload kEntry{
    "kmeans",
    {"k-means: Lloyd's iterations on mini-batches of points in 16 dimensions",
     "one of 16 shards of the points, read at random; every 4 steps the next",
     true, make_workload<KMeans>}};

}  // namespace
}  // namespace thermocline
