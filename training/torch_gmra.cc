#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "traces/libtorch.h"
#include "training/gmra.h"

namespace thermocline {
namespace {

// Below this share of the largest, a direction is what rounding left.
constexpr double kNothing = 1e-5;

// Rows are read so many at a time, and written: each sync waits for the disk.
constexpr std::size_t kBatch = 4096;

// Beyond it, squares and sums of floats may overflow.
constexpr double kLargest = 1e30;

struct Affine {
  torch::Tensor mean;   // (D)
  torch::Tensor basis;  // (D, d)
};

torch::Tensor numbers(const std::vector<std::int64_t>& all, std::size_t from,
                      std::size_t count) {
  return torch::tensor(at::ArrayRef<std::int64_t>(all.data() + from, count),
                       torch::kInt64);
}

template <typename Use>
void each_batch(const RowStore& points, const Cell& cell, Use use) {
  for (std::size_t at = 0; at < cell.points.size(); at += kBatch) {
    use(points.gather(
        numbers(cell.points, at, std::min(kBatch, cell.points.size() - at))));
  }
}

// A NaN is near nothing, so no cell would take it.
Status check_values(const RowStore& points) {
  const auto wild = [](const torch::Tensor& rows) {
    return !(rows.abs().max().item<double>() <= kLargest);
  };
  constexpr auto batch = static_cast<std::int64_t>(kBatch);
  for (std::int64_t at = 0; at < points.rows(); at += batch) {
    const auto end = std::min(points.rows(), at + batch);
    if (!wild(points.all().slice(0, at, end))) continue;
    while (!wild(points.row(at))) ++at;
    return invalid("row " + std::to_string(at) +
                   " of the points has a value that is not a number, infinite, "
                   "or beyond 1e30; leave it out, or scale the data");
  }
  return {};
}

// Asked millions of times: calls through LibTorch's dispatcher took nine tenths
// of all.
CoverTree::Distance distance_of(const RowStore& points) {
  const auto all = points.all();
  return [data = all.data_ptr<float>(), stride = all.stride(0),
          width = all.size(1)](std::int64_t a, std::int64_t b) {
    const float* x = data + a * stride;
    const float* y = data + b * stride;
    return std::sqrt(std::transform_reduce(
        x, x + width, y, 0.0, std::plus<>(),
        [](double u, double v) { return (u - v) * (u - v); }));
  };
}

// Singular values of points less their mean, by whichever of the two Gram
// matrices is smaller: D x D is summed over batches, so a cell of any number
// of points needs no more DRAM than that.
Affine approximate(const RowStore& points, const Cell& cell,
                   const GmraOptions& options) {
  const auto count = static_cast<std::int64_t>(cell.points.size());
  const std::int64_t width = points.width();
  auto sum = torch::zeros({width}, torch::kFloat64);
  each_batch(points, cell, [&](const torch::Tensor& batch) {
    sum += batch.sum(0, false, torch::kFloat64);
  });
  Affine out;
  out.mean = (sum / count).to(torch::kFloat32);
  torch::Tensor values, vectors;  // ascending; (D, all)
  if (count <= std::min(width, static_cast<std::int64_t>(kBatch))) {
    const auto off =
        (points.gather(numbers(cell.points, 0, cell.points.size())) - out.mean)
            .to(torch::kFloat64);
    const auto svd = torch::linalg_svd(off, false);
    values = std::get<1>(svd).pow(2).flip(0);
    vectors = std::get<2>(svd).t().flip(1);
  } else {
    auto gram = torch::zeros({width, width}, torch::kFloat64);
    each_batch(points, cell, [&](const torch::Tensor& batch) {
      const auto off = (batch - out.mean).to(torch::kFloat64);
      gram.addmm_(off.t(), off);
    });
    std::tie(values, vectors) = torch::linalg_eigh(gram, "U");
  }
  const std::int64_t all = values.size(0);
  const double total = values.sum().item<double>();
  const double floor = kNothing * kNothing * values[all - 1].item<double>();
  std::int64_t kept = 0;
  for (double held = 0; kept < std::min(all, options.dimension); ++kept) {
    const double next = values[all - 1 - kept].item<double>();
    if (held >= options.energy * total || next <= floor) break;
    held += next;
  }
  out.basis = vectors.slice(1, all - kept).flip(1).to(torch::kFloat32);
  return out;
}

torch::Tensor without(const torch::Tensor& basis, const torch::Tensor& from) {
  return from - basis.matmul(basis.t().matmul(from));
}

// What `basis` spans and `parent` does not.
torch::Tensor difference(const torch::Tensor& parent,
                         const torch::Tensor& basis) {
  if (basis.size(1) == 0) return basis;
  const auto above = parent.to(torch::kFloat64);
  const auto rest = without(above, basis.to(torch::kFloat64));
  const auto svd = torch::linalg_svd(rest, false);
  // The basis is orthonormal: singular values are sines of angles.
  const auto kept = (std::get<1>(svd) > kNothing).sum().item<std::int64_t>();
  // A direction that was nearly the parent's is mostly its rounding: once more.
  const auto clean = without(above, std::get<0>(svd).slice(1, 0, kept));
  return std::get<0>(torch::linalg_qr(clean)).to(torch::kFloat32);
}

}  // namespace

struct Gmra::Parts {
  struct Node {
    torch::Tensor mean, translation, basis, wavelets;
  };
  const RowStore* points = nullptr;
  std::optional<CoverTree> tree;
  std::vector<Node> nodes;
  std::vector<std::int64_t> leaf_of;  // for each point
  std::optional<RowStore> leaves;     // what their nodes refer to

  Node& node(std::int64_t cell) {
    return nodes[static_cast<std::size_t>(cell)];
  }
  const Cell& cell(std::int64_t number) const {
    return tree->cells()[static_cast<std::size_t>(number)];
  }
  // Moves a leaf's node to rows of `leaves` from `row`. Returns: how many.
  std::int64_t store(Node& leaf, std::int64_t row);
  Status let_go(std::int64_t first, std::int64_t end);
};

std::int64_t Gmra::Parts::store(Node& leaf, std::int64_t row) {
  const auto all =
      torch::cat({leaf.mean.unsqueeze(0), leaf.translation.unsqueeze(0),
                  leaf.basis.t(), leaf.wavelets.t()});
  const auto directions = leaf.basis.size(1);
  auto rows = leaves->all().slice(0, row, row + all.size(0));
  rows.copy_(all);
  leaf = {rows[0], rows[1], rows.slice(0, 2, 2 + directions).t(),
          rows.slice(0, 2 + directions).t()};
  return all.size(0);
}

Status Gmra::Parts::let_go(std::int64_t first, std::int64_t end) {
  if (end == first) return {};
  if (auto ok = leaves->sync(first, end - first); !ok) return ok;
  leaves->let_go(first, end - first);
  return {};
}

Gmra::Gmra(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Gmra::Gmra(Gmra&&) noexcept = default;
Gmra::~Gmra() = default;

Result<Gmra> Gmra::build(const RowStore& points, const std::string& leaf_path,
                         const GmraOptions& options) {
  if (options.levels < 0 || options.levels > 40 || options.dimension < 1 ||
      options.smallest < 1 || !(options.energy >= 0 && options.energy <= 1)) {
    return invalid(
        "levels is 0 to 40, smallest and dimension 1 or more, energy 0 to 1");
  }
  const torch::NoGradGuard no_grad;
  if (auto ok = check_values(points); !ok) return ok.error();
  auto parts = std::make_unique<Parts>();
  parts->points = &points;
  parts->tree.emplace(points.rows(), distance_of(points),
                      static_cast<int>(options.levels), options.smallest);
  const auto& cells = parts->tree->cells();
  parts->nodes.resize(cells.size());
  parts->leaf_of.resize(static_cast<std::size_t>(points.rows()));
  std::int64_t leaf_rows = 0;
  for (const Cell& cell : cells) {
    if (!cell.children.empty()) continue;
    // Its mean, its translation, and at most so many directions, twice.
    leaf_rows +=
        2 + 2 * std::min({static_cast<std::int64_t>(cell.points.size()),
                          options.dimension, points.width()});
  }
  auto leaves = leaf_path.empty()
                    ? RowStore::in_memory(leaf_rows, points.width())
                    : RowStore::in_file(leaf_path, leaf_rows, points.width());
  if (!leaves) return leaves.error();
  parts->leaves.emplace(*std::move(leaves));

  std::int64_t row = 0, durable = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    Parts::Node& node = parts->nodes[i];
    // An only child has its parent's points.
    const bool same = cells[i].parent >= 0 &&
                      parts->cell(cells[i].parent).children.size() == 1;
    const auto [mean, basis] = same ? Affine{parts->node(cells[i].parent).mean,
                                             parts->node(cells[i].parent).basis}
                                    : approximate(points, cells[i], options);
    node.mean = mean;
    node.basis = basis.contiguous();
    if (same) {
      node.wavelets = basis.slice(1, 0, 0);
      node.translation = torch::zeros_like(mean);
    } else if (cells[i].parent < 0) {
      node.wavelets = basis;
      node.translation = mean;
    } else {
      const Parts::Node& above = parts->node(cells[i].parent);
      node.wavelets = difference(above.basis, basis);
      node.translation = without(above.basis, mean - above.mean);
    }
    if (!cells[i].children.empty()) continue;
    for (const auto point : cells[i].points) {
      parts->leaf_of[static_cast<std::size_t>(point)] = number;
    }
    row += parts->store(node, row);
    if (row - durable < static_cast<std::int64_t>(kBatch)) continue;
    if (auto ok = parts->let_go(durable, row); !ok) return ok.error();
    durable = row;
  }
  if (auto ok = parts->let_go(durable, row); !ok) return ok.error();
  return Gmra(std::move(parts));
}

const CoverTree& Gmra::tree() const { return *parts_->tree; }
torch::Tensor Gmra::mean(std::int64_t cell) const {
  return parts_->node(cell).mean;
}
torch::Tensor Gmra::basis(std::int64_t cell) const {
  return parts_->node(cell).basis;
}
torch::Tensor Gmra::wavelets(std::int64_t cell) const {
  return parts_->node(cell).wavelets;
}
torch::Tensor Gmra::translation(std::int64_t cell) const {
  return parts_->node(cell).translation;
}

std::vector<std::int64_t> Gmra::path(std::int64_t point) const {
  std::vector<std::int64_t> out;
  for (auto cell = parts_->leaf_of[static_cast<std::size_t>(point)]; cell >= 0;
       cell = parts_->cell(cell).parent) {
    out.push_back(cell);
  }
  std::ranges::reverse(out);
  return out;
}

torch::Tensor Gmra::project(std::int64_t cell, const torch::Tensor& x) const {
  const Parts::Node& node = parts_->node(cell);
  return node.mean + node.basis.matmul(node.basis.t().matmul(x - node.mean));
}

// From the leaf up: x_c is the point as its cell c sees it, and x_p of the
// parent is x_c seen from there; the difference lies in the wavelets of c and
// its translation.
std::vector<torch::Tensor> Gmra::transform(std::int64_t point) const {
  const torch::NoGradGuard no_grad;
  const auto cells = path(point);
  std::vector<torch::Tensor> out(cells.size());
  auto x = project(cells.back(), parts_->points->row(point));
  for (std::size_t i = cells.size(); i-- > 0;) {
    const Parts::Node& node = parts_->node(cells[i]);
    out[i] = node.wavelets.t().matmul(x - node.mean);
    if (i > 0) x = project(cells[i - 1], x);
  }
  return out;
}

torch::Tensor Gmra::inverse(
    const std::vector<std::int64_t>& path,
    const std::vector<torch::Tensor>& coefficients) const {
  CHECK(coefficients.size() <= path.size());
  auto x = torch::zeros({parts_->points->width()});
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const Parts::Node& node = parts_->node(path[i]);
    x += node.wavelets.matmul(coefficients[i]) + node.translation;
  }
  return x;
}

}  // namespace thermocline
