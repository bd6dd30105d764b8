// Optimizers out of a checkpoint.
#include <cstring>
#include <map>

#include "traces/libtorch.h"
#include "training/torch_checkpoint.h"
#include "training/torch_optimizer.h"
#include "training/torch_pieces.h"

namespace thermocline {
namespace {

std::string text_of(const Piece& piece) {
  return {piece.bytes.begin(), piece.bytes.end()};
}

// By "GROUP.INDEX.PART".
std::map<std::string, const Piece*> parts_of(const Restored& from,
                                             const std::string& name) {
  std::map<std::string, const Piece*> out;
  const std::string prefix = name + ".state.";
  for (const Piece& piece : from.pieces) {
    if (piece.name.starts_with(prefix)) {
      out[piece.name.substr(prefix.size())] = &piece;
    }
  }
  return out;
}

}  // namespace

Error another_job(const std::string& name, const std::string& why) {
  return invalid("the checkpoint is of another job: \"" + name + "\" " + why +
                 "; resume with the model and the optimizer that it was saved "
                 "from, or use another pool");
}

Status check_optimizer(const Restored& from, const std::string& name,
                       torch::optim::Optimizer& optimizer) {
  const auto layout = optimizer_layout(optimizer);
  if (!layout) return layout.error().within(name);
  const Piece* saved = from.find(name + ".layout");
  if (saved != nullptr && text_of(*saved) != *layout) {
    return another_job(name, "was " + text_of(*saved) + ", and is " + *layout);
  }
  const auto shapes = optimizer_shapes(optimizer);
  if (!shapes) return shapes.error().within(name);
  for (const auto& [part, piece] : parts_of(from, name)) {
    const auto at = shapes->find(part);
    if (at == shapes->end()) {
      return another_job(piece->name, "is nothing that the optimizer keeps");
    }
    if (at->second != piece->shape) {
      return another_job(piece->name, "has another shape than its parameter");
    }
  }
  return {};
}

Status restore_optimizer(const Restored& from, const std::string& name,
                         torch::optim::Optimizer& optimizer) {
  const Piece* options = from.find(name + ".options");
  if (options == nullptr) return another_job(name + ".options", "is missing");
  if (auto ok = set_optimizer_options(optimizer, text_of(*options)); !ok) {
    return ok.error().within(name);
  }
  const auto saved = parts_of(from, name);
  clear_state(optimizer);
  if (saved.empty()) return {};
  Status status;
  OptimizerVisitor visitor;
  visitor.tensor = [&](const std::string& part, torch::Tensor& tensor) {
    const auto at = saved.find(part);
    if (at == saved.end()) return;
    auto made = tensor_of(*at->second);
    if (made) tensor = *made;
    if (!made) status = made.error();
  };
  visitor.number = [&](const std::string& part, std::int64_t& number) {
    const auto at = saved.find(part);
    if (at != saved.end() && at->second->bytes.size() == 8) {
      std::memcpy(&number, at->second->bytes.data(), 8);
    }
  };
  const auto was_there = [&](const std::string& parameter) {
    const auto at = saved.lower_bound(parameter);
    return at != saved.end() && at->first.starts_with(parameter);
  };
  if (auto ok = visit_state(optimizer, was_there, visitor); !ok) {
    return ok.error().within(name);
  }
  return status;
}

}  // namespace thermocline
