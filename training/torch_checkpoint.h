// TrainingState: a LibTorch job's state, by name, for a CheckpointPool.
//
//   TrainingState state;
//   state.add("model", *model);
//   state.add("optimizer", optimizer);
//   state.add("order", order);           // which samples come next
//   state.add_rng("rng");                // LibTorch's CPU generator
//   auto pool = state.open_pool("job.pool");
//   auto step = state.resume(*pool);     // nothing: begin at the beginning
//   ...
//   pool->save(*state.pieces(), step);   // or see background_saver.h
//
// Tensors are saved as they lie in memory, without serialisation, and restored
// into the tensors that are there; a run that is resumed is then bit for bit
// the run that was not interrupted, as far as LibTorch itself is deterministic
// (set one thread, or know that your operators are).
// Includes no torch: callers have included what they use.
// Thread safety: none. Ownership: refers to what was added, which must outlive
// it; pieces() are valid until the next call, or until a tensor is replaced.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "training/checkpoint.h"
#include "training/data_order.h"

namespace at {
class Tensor;
}
namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace thermocline {

class TrainingState {
 public:
  TrainingState();
  TrainingState(const TrainingState&) = delete;
  TrainingState& operator=(const TrainingState&) = delete;
  ~TrainingState();

  /// Parameters and buffers, as "NAME.0.weight". Requires, here and below: no
  /// two things are added under one name.
  void add(const std::string& name, torch::nn::Module& module);
  /// State and options: "NAME.state.GROUP.INDEX.PART", "NAME.options"; and in
  /// "NAME.layout" its kind and how many parameters each group has.
  void add(const std::string& name, torch::optim::Optimizer& optimizer);
  /// Restored in place when defined, else made. On the CPU.
  void add(const std::string& name, at::Tensor& tensor);
  void add(const std::string& name, DataOrder& order);
  void add(const std::string& name, std::int64_t& number);
  void add(const std::string& name, double& number);
  void add_rng(const std::string& name);

  /// All of it. Errors: kUnsupported, naming what cannot be saved.
  Result<std::vector<Piece>> pieces();
  /// The same for BackgroundSaver::begin_beside(). Steady is what an optimizer
  /// that was added owns, in the CPU's memory: its parameters and its state.
  /// All else, also the buffers and parameters of modules that no optimizer
  /// has, may change at any time. A write is seen by LibTorch's own count of
  /// them (Tensor::_version()), which one through data() goes past: say
  /// before_update() before such a one.
  Result<LivePieces> live();

  /// Puts a checkpoint back. Checked as a whole first: on an error nothing has
  /// changed but, for kCorrupt options, the optimizer. Errors: kInvalid when
  /// it is of another job (a name missing, another shape or type, another kind
  /// of optimizer or other groups); kUnsupported as pieces().
  Status restore(const Restored& from);

  /// The pool at `path`; a new one, large enough for this state with all that
  /// its optimizers will keep, when there is none.
  Result<CheckpointPool> open_pool(const std::string& path,
                                   PoolOptions pool = {},
                                   const SaveOptions& options = {});
  /// Puts the newest whole checkpoint back, in one pass over it. Returns: its
  /// step; nothing when nothing was saved yet. `tell`: called when damage was
  /// passed over, for then it may be an older one than the last that was saved.
  /// Errors: as restore() and CheckpointPool::restore(). When none is whole
  /// (kCorrupt), tensors may hold parts of one: begin anew, or check first with
  /// CheckpointPool::restore().
  Result<std::optional<std::uint64_t>> resume(CheckpointPool& pool,
                                              const Tell& tell = tell_stderr);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// "float32", "int64", ...; "bytes" for what is no tensor's type.
std::string tensor_type_name(const at::Tensor& tensor);
/// A piece as a tensor; bytes become uint8. Not a copy: valid as long as the
/// piece's bytes are, and to be read only. Errors: kInvalid when its type or
/// shape is none that a tensor has.
Result<at::Tensor> tensor_over(const Piece& piece);
/// A copy of it.
Result<at::Tensor> tensor_of(const Piece& piece);

}  // namespace thermocline
