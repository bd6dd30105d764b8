// sparse_product: the square of a sparse matrix, row by row (Gustavson 1978),
// to find links that a network lacks.
//
// A row of the product is the sum of the rows that the matrix's row names. It
// is gathered in an accumulator as wide as the matrix (Gilbert, Moler and
// Schreiber 1992); a first pass counts the entries of each row, a second one
// computes them. The product does not fit in memory: as in HipMCL (Azad et al.
// 2018), a step computes as many rows as do, and takes from them what it wants:
// the strongest way of two links to where there is no link yet. When all rows
// are done, these links take the place of the weakest, and all begins again.
// Rows are short but for some, and half their columns are popular ones; the
// others are near.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

using Column = std::uint32_t;

constexpr double kShortest = 6;         // row; the mean is twice that, as
constexpr double kLongest = 600;        // lengths are Pareto's, cut here
constexpr std::size_t kMean = 12;       // about, of entries in a row
constexpr std::size_t kCommunity = 64;  // rows that are near each other
constexpr std::size_t kParts = 4;       // of memory; one is the product's
constexpr std::size_t kBatches = 12;    // of rows, at least
constexpr double kError = 1e-9;         // allowed
constexpr Column kNone = ~0U;

// Compressed sparse rows.
struct Matrix {
  std::vector<std::uint32_t> begin;
  std::vector<Column> columns;
  std::vector<double> values;
};

struct Link {
  double strength = 0;
  Column to = kNone;
};

class SparseProduct final : public Workload {
 public:
  explicit SparseProduct(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    // Each array a mapping of its own: where the heap lies hangs on what else
    // is in it.
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    constexpr std::size_t kEntry = sizeof(Column) + sizeof(double);
    constexpr std::size_t kRow = kMean * kEntry + sizeof(double) +
                                 sizeof(Link) + 2 * sizeof(std::uint32_t);
    rows_ = settings_.bytes / kParts * (kParts - 1) / kRow;
    marks_.resize(rows_);
    sums_.resize(rows_);
    links_.resize(rows_);
    make_matrix();
    product_.begin.resize(rows_ / kBatches + 1);
    const std::size_t used =
        rows_ * (kRow - kMean * kEntry) + matrix_.columns.size() * kEntry;
    product_.columns.resize((settings_.bytes - used) / kEntry);
    product_.values.resize(product_.columns.size());
  }

  std::vector<Array> arrays() const override {
    return {array_of("begin", matrix_.begin),
            array_of("columns", matrix_.columns),
            array_of("values", matrix_.values),
            array_of("marks", marks_),
            array_of("sums", sums_),
            array_of("links", links_),
            array_of("product_begin", product_.begin),
            array_of("product_columns", product_.columns),
            array_of("product_values", product_.values)};
  }

  std::uint64_t step(std::uint64_t) override {
    if (end_ == rows_) {
      adopt();
      end_ = 0;
    }
    begin_ = end_;
    count();
    Digest digest;
    for (std::size_t row = begin_; row < end_; ++row) {
      multiply(row);
      links_[row] = best(row);
      digest.add(links_[row].strength);
    }
    digest.add(product_.begin[end_ - begin_]);
    return digest.value();
  }

  // The product, times some vector, is the matrix times the matrix times it
  // (Freivalds 1977). A row has each column once; and of those to which there
  // is no link, none is stronger than the one found.
  Status check() override {
    Random random(settings_.seed, 1);
    std::vector<double> x(rows_), once(rows_);
    for (double& one : x) one = random.unit();
    for (std::size_t row = 0; row < rows_; ++row) {
      once[row] = times(matrix_, row, x);
    }
    for (std::size_t row = begin_; row < end_; ++row) {
      const double expected = times(matrix_, row, once);
      const double found = times(product_, row - begin_, x);
      if (!(std::abs(found - expected) <= kError * expected)) {
        return corrupt("row " + std::to_string(row) +
                       " of the product is another");
      }
      const auto first = product_.begin[row - begin_];
      const auto end = product_.begin[row - begin_ + 1];
      std::vector<Column> sorted(product_.columns.begin() + first,
                                 product_.columns.begin() + end);
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        return corrupt("row " + std::to_string(row) + " has a column twice");
      }
      for (auto i = first; i < end; ++i) {
        if (product_.values[i] <= links_[row].strength) continue;
        if (linked(row, product_.columns[i])) continue;
        return corrupt("there is a stronger link than that found for row " +
                       std::to_string(row));
      }
    }
    return {};
  }

  void spoil() override { product_.values[0] *= 2; }

 private:
  void make_matrix() {
    Random random(settings_.seed);
    matrix_.begin.push_back(0);
    matrix_.begin.reserve(rows_ + 1);
    matrix_.columns.reserve(rows_ * (kMean + 1));
    std::vector<Column> row;
    for (std::size_t i = 0; i < rows_; ++i) {
      const double length =
          std::min(kShortest / std::sqrt(1 - random.unit()), kLongest);
      row.clear();
      while (static_cast<double>(row.size()) < length) {
        row.push_back(any_column(i, random));
      }
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      matrix_.columns.insert(matrix_.columns.end(), row.begin(), row.end());
      matrix_.begin.push_back(
          static_cast<std::uint32_t>(matrix_.columns.size()));
    }
    matrix_.columns.shrink_to_fit();
    matrix_.values.reserve(matrix_.columns.size());
    for (std::size_t i = 0; i < rows_; ++i) {
      const double mean = 1.0 / (matrix_.begin[i + 1] - matrix_.begin[i]);
      while (matrix_.values.size() < matrix_.begin[i + 1]) {
        matrix_.values.push_back(mean * (0.5 + random.unit()));
      }
    }
  }

  // A popular one, or one near.
  Column any_column(std::size_t row, Random& random) const {
    if (random.below(2) == 0) {
      const std::uint64_t rank = random.skewed(rows_);
      return static_cast<Column>(mix(rank + settings_.seed) % rows_);
    }
    const std::size_t first = row / kCommunity * kCommunity;
    const std::size_t size = std::min(kCommunity, rows_ - first);
    return static_cast<Column>(first + random.below(size));
  }

  // Calls use(column, value) for each that adds to a row of the product.
  template <typename Use>
  void each(std::size_t row, const Use& use) const {
    for (auto i = matrix_.begin[row]; i < matrix_.begin[row + 1]; ++i) {
      const Column other = matrix_.columns[i];
      const double value = matrix_.values[i];
      for (auto k = matrix_.begin[other]; k < matrix_.begin[other + 1]; ++k) {
        use(matrix_.columns[k], value * matrix_.values[k]);
      }
    }
  }

  // Of as many rows as the product has room for.
  void count() {
    std::uint32_t entries = 0;
    for (; end_ < rows_ && end_ - begin_ + 1 < product_.begin.size(); ++end_) {
      ++mark_;
      std::uint32_t more = 0;
      each(end_, [&](Column column, double) {
        more += marks_[column] != mark_;
        marks_[column] = mark_;
      });
      if (entries + more > product_.columns.size()) break;
      entries += more;
      product_.begin[end_ - begin_ + 1] = entries;
    }
    CHECK(end_ > begin_);
  }

  void multiply(std::size_t row) {
    ++mark_;
    const auto first = product_.begin[row - begin_];
    auto end = first;
    each(row, [&](Column column, double value) {
      if (marks_[column] == mark_) {
        sums_[column] += value;
        return;
      }
      marks_[column] = mark_;
      sums_[column] = value;
      product_.columns[end++] = column;
    });
    for (auto i = first; i < end; ++i) {
      product_.values[i] = sums_[product_.columns[i]];
    }
  }

  bool linked(std::size_t row, Column to) const {
    if (row == to) return true;
    const auto end = matrix_.columns.begin() + matrix_.begin[row + 1];
    return std::find(matrix_.columns.begin() + matrix_.begin[row], end, to) !=
           end;
  }

  Link best(std::size_t row) const {
    Link found;
    for (auto i = product_.begin[row - begin_];
         i < product_.begin[row - begin_ + 1]; ++i) {
      if (product_.values[i] <= found.strength) continue;
      if (linked(row, product_.columns[i])) continue;
      found = {product_.values[i], product_.columns[i]};
    }
    return found;
  }

  void adopt() {
    for (std::size_t row = 0; row < rows_; ++row) {
      if (links_[row].to == kNone) continue;
      const auto first = matrix_.values.begin() + matrix_.begin[row];
      const auto weakest = std::min_element(
          first, matrix_.values.begin() + matrix_.begin[row + 1]);
      const auto place =
          static_cast<std::size_t>(weakest - matrix_.values.begin());
      matrix_.columns[place] = links_[row].to;
    }
  }

  static double times(const Matrix& m, std::size_t row,
                      const std::vector<double>& x) {
    double sum = 0;
    for (auto i = m.begin[row]; i < m.begin[row + 1]; ++i) {
      sum += m.values[i] * x[m.columns[i]];
    }
    return sum;
  }

  WorkloadSettings settings_;
  Matrix matrix_;
  Matrix product_;                    // of the rows of this step
  std::vector<std::uint32_t> marks_;  // who added to the column last
  std::vector<double> sums_;          // in the row that is being computed
  std::vector<Link> links_;           // the one that each row lacks most
  std::size_t rows_ = 0, begin_ = 0, end_ = 0;  // of the matrix; of this step
  std::uint32_t mark_ = 0;
};

const RegisterWorkload kEntry{
    "sparse_product",
    {"sparse matrix product: the square of a network's matrix by Gustavson's "
     "algorithm, to find links that it lacks",
     "sums and marks of the columns, and popular rows, at random; rows near "
     "those of this step, which move by a twentieth of the matrix; the product "
     "end to end",
     true, make_workload<SparseProduct>}};

}  // namespace
}  // namespace thermocline
