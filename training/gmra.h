// Gmra: data near a low-dimensional surface, at every scale.
//
// Geometric Multi-Resolution Analysis after Allard, Chen and Maggioni (2012),
// which Wood and others ran on persistent memory ("Non-Volatile Memory
// Accelerated Geometric Multi-Scale Resolution Analysis", 2021). Three steps:
// (1) a cover tree parts the data into cells, scale by scale; (2) each cell
// gets an affine approximation, its mean and the leading directions of its
// points (a truncated SVD); (3) each child gets what its parent's approximation
// lacks, its wavelets:
//   P_c(x) = mean_c + B_c B_c^T (x - mean_c)          B: basis, D x d
//   Psi_c  = orthonormal basis of (I - B_p B_p^T) B_c   p: parent of c
//   w_c    = (I - B_p B_p^T) (mean_c - mean_p)
// A point is then a few coefficients in its root and a few more at each scale
// down to its leaf, and comes back from them exactly as its leaf sees it.
//
// Points and all that a leaf has (its mean, translation, basis and wavelets),
// which are most of it all and seldom read, lie in RowStores, which may be
// files on a slow tier. In DRAM are the cells above, about a KiB that refers
// to each leaf, and the tree, which has 8 bytes for each point on each level.
// Where the paper is silent: a cell's dimension is the fewest directions
// that hold a share of its points' energy, up to a limit; a level's cells part
// the data by the tree, not anew by distance; a leaf is any cell without
// children.
// Includes no torch. Thread safety: none. Ownership: owns its bases, not the
// points, which must outlive it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "training/cover_tree.h"
#include "training/row_store.h"

namespace thermocline {

struct GmraOptions {
  std::int64_t levels = 8;
  std::int64_t smallest = 16;
  std::int64_t dimension = 8;
  double energy = 0.99;
  void fields(auto& f) {
    f("levels", levels, std::int64_t{0}, std::int64_t{40},
      "scales below the root");
    f("smallest", smallest, std::int64_t{1}, std::int64_t{1} << 40,
      "points of a cell that is not divided further");
    f("dimension", dimension, std::int64_t{1}, std::int64_t{1} << 20,
      "directions that a cell has at most");
    f("energy", energy, 0.0, 1.0,
      "share of a cell's squared distances from its mean that its directions "
      "are to hold");
  }
};

class Gmra {
 public:
  /// Of all rows of `points`. `leaf_path`: a new file for what leaves have;
  /// empty: DRAM. Errors: those of RowStore; kInvalid when an option makes no
  /// sense, or a value is no number, infinite, or beyond 1e30 (naming its row).
  static Result<Gmra> build(const RowStore& points,
                            const std::string& leaf_path,
                            const GmraOptions& options);
  Gmra(Gmra&&) noexcept;
  ~Gmra();

  const CoverTree& tree() const;
  /// Of a cell of the tree: (D); (D, d); (D, k) with k from 0; (D). The root's
  /// wavelets are its basis, its translation is its mean.
  at::Tensor mean(std::int64_t cell) const;
  at::Tensor basis(std::int64_t cell) const;
  at::Tensor wavelets(std::int64_t cell) const;
  at::Tensor translation(std::int64_t cell) const;

  /// The cells that hold a point of the data, from the root to its leaf.
  /// Requires: point < rows of the data.
  std::vector<std::int64_t> path(std::int64_t point) const;
  /// P_c(x): x as a cell sees it.
  at::Tensor project(std::int64_t cell, const at::Tensor& x) const;
  /// A point's coefficients, the root's first, one tensor for each cell of
  /// its path.
  std::vector<at::Tensor> transform(std::int64_t point) const;
  /// The point that has these, as far down as they go.
  at::Tensor inverse(const std::vector<std::int64_t>& path,
                     const std::vector<at::Tensor>& coefficients) const;

 private:
  struct Parts;
  explicit Gmra(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace thermocline
