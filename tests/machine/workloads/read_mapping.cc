// read_mapping: finds where in a genome short reads come from, as the first
// step of most work with DNA.
//
// An index has the places of each k-mer (k bases in a row), as an array that
// says where a k-mer's places begin in another. Those of a read's k-mers are
// looked up, on both strands; places on about the same diagonal speak for one
// candidate. The best candidates are aligned to the read in a band about the
// diagonal, by dynamic programming. A quarter of the genome is of repeats.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kReads = 500;     // in a step
constexpr std::size_t kLength = 150;    // bases in a read
constexpr std::size_t kStride = 4;      // from one k-mer looked up to another
constexpr std::size_t kOften = 64;      // one at more places tells nothing
constexpr std::size_t kVotes = 3;       // k-mers that make a candidate
constexpr std::size_t kCandidates = 3;  // aligned
constexpr std::size_t kBand = 6;        // diagonals to either side
constexpr std::size_t kReadShare = 8;   // of memory, to one of reads
constexpr std::size_t kIndexShare = 4;  // likewise, at most, where k-mers begin
constexpr std::size_t kRepeats = 256;   // kinds of repeats
constexpr std::size_t kRepeatLength = 300;
constexpr double kLeastRight = 0.9;  // of the reads

using Base = std::uint8_t;  // 0 to 3; its complement is 3 less it
using Read = std::array<Base, kLength>;
constexpr std::size_t kWidth = 2 * kBand + 1;

struct Place {
  std::uint32_t at = 0;  // of the read's first base, or of the strand's last
  std::uint16_t reverse = 0;
  std::uint16_t distance = kLength;  // edits; all bases: found nowhere
};

struct Candidate {
  std::size_t votes = 0;
  std::uint32_t at = 0;
  bool reverse = false;
};

Read complement(const Read& read) {
  Read other = read;
  std::reverse(other.begin(), other.end());
  for (Base& base : other) base = static_cast<Base>(3 - base);
  return other;
}

class ReadMapping final : public Workload {
 public:
  explicit ReadMapping(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t for_reads = settings_.bytes / kReadShare;
    while ((sizeof(std::uint32_t) << 2 * (k_ + 1)) <=
           settings_.bytes / kIndexShare) {
      ++k_;
    }
    // Two more than there are k-mers: see below.
    begin_.resize((std::size_t{1} << 2 * k_) + 2);
    const std::size_t rest =
        settings_.bytes - for_reads - begin_.size() * sizeof(std::uint32_t);
    make_genome(rest / (sizeof(std::uint32_t) + sizeof(Base)));
    make_index();
    reads_.resize(for_reads / (sizeof(Read) + sizeof(Place)));
    places_.resize(reads_.size());
    for (std::size_t i = 0; i < reads_.size(); ++i) draw(i, reads_[i]);
  }

  std::vector<Array> arrays() const override {
    return {array_of("genome", genome_), array_of("begin", begin_),
            array_of("positions", positions_), array_of("reads", reads_),
            array_of("places", places_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    index_ = index;
    Digest digest;
    for (std::size_t i = 0; i < kReads; ++i) {
      const Place place = places_[number(i)] = map(reads_[number(i)]);
      digest.add(place.at + (std::uint64_t{place.distance} << 32));
    }
    return digest.value();
  }

  // The last reads: most are found where they were drawn, and the distance of
  // each is what its furthest diagonals give, without a matrix.
  Status check() override {
    std::size_t right = 0;
    for (std::size_t i = 0; i < kReads; ++i) {
      Read read;
      const Place truth = draw(number(i), read);
      const Place& place = places_[number(i)];
      const std::uint32_t off =
          std::max(place.at, truth.at) - std::min(place.at, truth.at);
      right += place.reverse == truth.reverse && off <= kBand;
      if (place.at == 0 && place.distance == kLength) continue;
      if (place.reverse != 0) read = complement(read);
      if (place.distance == furthest(read, place.at - kBand)) continue;
      return corrupt("read " + std::to_string(number(i)) +
                     " is at another distance from its place");
    }
    if (static_cast<double>(right) >= kLeastRight * kReads) return {};
    return corrupt("only " + std::to_string(right) + " reads of " +
                   std::to_string(kReads) + " are found where they come from");
  }

  void spoil() override { ++places_[number(kReads / 2)].distance; }

 private:
  // The read that is the step's i'th.
  std::size_t number(std::size_t i) const {
    return (index_ * kReads + i) % reads_.size();
  }

  // Repeats are copies of a few kinds, of which one base in eight changed.
  void make_genome(std::size_t size) {
    Random random(settings_.seed);
    const auto base = [&random] { return static_cast<Base>(random.below(4)); };
    std::vector<Base> kinds(kRepeats * kRepeatLength);
    for (Base& one : kinds) one = base();
    genome_.reserve(size + kRepeatLength);
    while (genome_.size() < size) {
      const bool repeats = random.below(4) == 0;
      const Base* const kind = &kinds[random.below(kRepeats) * kRepeatLength];
      for (std::size_t i = 0; i < kRepeatLength; ++i) {
        const bool copies = repeats && random.below(8) > 0;
        genome_.push_back(copies ? kind[i] : base());
      }
    }
    genome_.resize(size);
  }

  // Calls visit(k-mer, place) for each place.
  template <typename Visit>
  void each_kmer(const Visit& visit) const {
    const std::size_t mask = (std::size_t{1} << 2 * k_) - 1;
    std::size_t kmer = 0;
    for (std::size_t i = 0; i < genome_.size(); ++i) {
      kmer = (kmer << 2 | genome_[i]) & mask;
      if (i + 1 >= k_) visit(kmer, i + 1 - k_);
    }
  }

  // Counts are two behind their k-mers and sums one, so that when all places
  // are entered, each moved its k-mer's begin to the next one's.
  void make_index() {
    positions_.resize(genome_.size() + 1 - k_);
    each_kmer([this](std::size_t kmer, std::size_t) { ++begin_[kmer + 2]; });
    for (std::size_t i = 2; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    each_kmer([this](std::size_t kmer, std::size_t at) {
      positions_[begin_[kmer + 1]++] = static_cast<std::uint32_t>(at);
    });
  }

  // Reads from a random place, with some bases changed, lost or added.
  Place draw(std::size_t i, Read& read) const {
    Random random(settings_.seed + 1, i);
    const std::size_t at = kLength + random.below(genome_.size() - 3 * kLength);
    std::size_t from = at;
    for (Base& base : read) {
      const std::uint64_t luck = random.below(256);
      if (luck == 0) ++from;
      base = luck == 1   ? static_cast<Base>(random.below(4))
             : luck <= 5 ? static_cast<Base>(genome_[from++] ^ luck % 4)
                         : genome_[from++];
    }
    const bool reverse = random.below(2) == 1;
    if (reverse) read = complement(read);
    return {static_cast<std::uint32_t>(at), reverse, 0};
  }

  Place map(const Read& read) {
    const std::array<Read, 2> strands{read, complement(read)};
    std::array<Candidate, kCandidates> best{};
    for (const bool reverse : {false, true}) {
      look_up(strands[reverse]);
      vote(reverse, best);
    }
    Place place;
    for (const Candidate& one : best) {
      if (one.votes < kVotes || one.votes * 2 < best[0].votes) break;
      const std::size_t distance = align(strands[one.reverse], one.at - kBand);
      if (distance >= place.distance) continue;
      place = {one.at, one.reverse, static_cast<std::uint16_t>(distance)};
    }
    return place;
  }

  // Where the strand would begin, for each place of each of its k-mers.
  void look_up(const Read& strand) {
    begins_.clear();
    for (std::size_t i = 0; i + k_ <= kLength; i += kStride) {
      std::size_t kmer = 0;
      for (std::size_t j = i; j < i + k_; ++j) kmer = kmer << 2 | strand[j];
      const std::uint32_t begin = begin_[kmer], end = begin_[kmer + 1];
      if (end - begin > kOften) continue;
      for (std::uint32_t place = begin; place < end; ++place) {
        const std::size_t at = positions_[place];
        if (at < i + kBand || at - i + kLength + kBand > genome_.size()) {
          continue;
        }
        begins_.push_back(static_cast<std::uint32_t>(at - i));
      }
    }
    std::sort(begins_.begin(), begins_.end());
  }

  // Those that are not far apart are for one candidate, the middle one.
  void vote(bool reverse, std::array<Candidate, kCandidates>& best) const {
    for (std::size_t i = 0; i < begins_.size();) {
      const std::size_t first = i;
      while (i < begins_.size() && begins_[i] - begins_[first] < kBand) ++i;
      Candidate one{i - first, begins_[first + (i - first) / 2], reverse};
      for (Candidate& other : best) {
        if (one.votes > other.votes) std::swap(one, other);
      }
    }
  }

  // The edits from the strand to what begins and ends on one of the diagonals
  // from `at` on, and does not leave them.
  std::size_t align(const Read& strand, std::size_t at) const {
    std::array<std::uint32_t, kWidth + 1> row{};
    row[kWidth] = kLength;  // right of the band
    for (std::size_t i = 0; i < kLength; ++i) {
      const Base* const bases = &genome_[at + i];
      std::uint32_t left = kLength;
      for (std::size_t d = 0; d < kWidth; ++d) {
        const std::uint32_t differs = strand[i] != bases[d] ? 1 : 0;
        left = std::min({row[d] + differs, row[d + 1] + 1, left + 1});
        row[d] = left;
      }
    }
    return *std::min_element(row.begin(), row.end() - 1);
  }

  // The same by how far each diagonal comes with so many edits (Ukkonen 1985).
  std::size_t furthest(const Read& strand, std::size_t at) const {
    std::array<std::size_t, kWidth> reach{};
    for (std::size_t edits = 0;; ++edits) {
      const std::array<std::size_t, kWidth> before = reach;
      for (std::size_t d = 0; d < kWidth; ++d) {
        std::size_t& i = reach[d];
        if (edits > 0) {
          i = before[d] + 1;
          if (d > 0) i = std::max(i, before[d - 1]);
          if (d + 1 < kWidth) i = std::max(i, before[d + 1] + 1);
        }
        while (i < kLength && strand[i] == genome_[at + i + d]) ++i;
        if (i >= kLength) return edits;
      }
    }
  }

  WorkloadSettings settings_;
  std::vector<Base> genome_;
  std::vector<std::uint32_t> begin_;      // of each k-mer's places
  std::vector<std::uint32_t> positions_;  // the places
  std::vector<Read> reads_;
  std::vector<Place> places_;          // of each read
  std::vector<std::uint32_t> begins_;  // of a strand, as one k-mer has it
  std::size_t k_ = 1;
  std::uint64_t index_ = 0;
};

const RegisterWorkload kEntry{
    "read_mapping",
    {"read mapping: the places of short reads in a genome, by an index of "
     "k-mers and alignment in a band",
     "the index, at random, and then a few lines of the genome, at random; "
     "reads by and by; never changes",
     false, make_workload<ReadMapping>}};

}  // namespace
}  // namespace thermocline
