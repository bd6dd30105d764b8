#include "training/torch_checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cstring>
#include <deque>
#include <unordered_map>

#include "traces/libtorch.h"
#include "training/copy_pieces.h"
#include "training/torch_optimizer.h"
#include "training/torch_pieces.h"

namespace thermocline {
namespace {

// That restore; as SaveOptions has it.
constexpr unsigned kThreads = 2;

ByteSpan bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::uint8_t*>(data), size};
}

// Its memory holds its values, one after the other: they are not negated or
// conjugated when they are read.
bool lies_flat(const torch::Tensor& tensor) {
  return tensor.is_cpu() && tensor.is_contiguous() && !tensor.is_neg() &&
         !tensor.is_conj();
}

bool is_filled(const torch::Tensor& tensor) {
  return tensor.defined() && lies_flat(tensor);
}

// Requires: it is there, and has the size.
DataOrder::State state_of(const Restored& from, const std::string& name) {
  DataOrder::State out;
  std::memcpy(&out, from.find(name)->bytes.data(), sizeof out);
  return out;
}

}  // namespace

// Everything comes down to tensors, numbers, and the two whose parts are only
// known when they are asked: optimizers and the generator.
struct TrainingState::Parts {
  struct Number {
    std::string name;
    void* at;
    Bytes size;
  };
  std::vector<std::pair<std::string, torch::Tensor*>> tensors;
  std::deque<torch::Tensor> module_tensors;  // that `tensors` points to
  std::vector<Number> numbers;
  std::vector<std::pair<std::string, DataOrder*>> orders;
  std::vector<std::pair<std::string, torch::optim::Optimizer*>> optimizers;
  std::vector<std::string> generators;
  // What pieces() refers to, beside the tensors themselves.
  std::deque<torch::Tensor> held;
  std::deque<std::string> texts;

  Status put(std::vector<Piece>& to, const std::string& name,
             const torch::Tensor& tensor) {
    if (!tensor.defined()) return {};
    if (auto ok = check_savable(name, tensor); !ok) return ok;
    // Most do: three calls through the dispatcher saved, of a small tensor the
    // larger part.
    held.push_back(
        lies_flat(tensor)
            ? tensor
            : tensor.detach().cpu().resolve_conj().resolve_neg().contiguous());
    const torch::Tensor& flat = held.back();
    to.push_back({name, tensor_type_name(flat), flat.sizes().vec(),
                  bytes_of(flat.data_ptr(), flat.nbytes()), 0});
    return {};
  }
  void put(std::vector<Piece>& to, const std::string& name, std::string text) {
    texts.push_back(std::move(text));
    to.push_back({.name = name,
                  .bytes = bytes_of(texts.back().data(), texts.back().size())});
  }
  Status put(std::vector<Piece>& to, const std::string& name,
             torch::optim::Optimizer& optimizer);
  // A checkpoint is put back in this order, the tensors' memory before the
  // last.
  Status check(const Restored& from) const;
  Places places(const Restored& from) const;
  Status begin(const Restored& from);
  Status finish(const Restored& from);
};

Status TrainingState::Parts::put(std::vector<Piece>& to,
                                 const std::string& name,
                                 torch::optim::Optimizer& optimizer) {
  for (const auto& group : optimizer.param_groups()) {
    for (const auto& param : group.params()) {
      if (auto ok = check_savable(name + "'s parameter", param); !ok) return ok;
    }
  }
  const std::string prefix = name + ".state.";
  Status status;
  OptimizerVisitor visitor;
  visitor.tensor = [&](const std::string& part, torch::Tensor& tensor) {
    if (auto ok = put(to, prefix + part, tensor); !ok) status = ok;
  };
  visitor.number = [&](const std::string& part, std::int64_t& number) {
    to.push_back({prefix + part, "int64", {}, bytes_of(&number, 8), 0});
  };
  if (auto ok = visit_state(optimizer, create_none, visitor); !ok) {
    return ok.error().within(name);
  }
  if (!status) return status;
  auto options = optimizer_options(optimizer);
  if (!options) return options.error().within(name);
  put(to, name + ".options", *std::move(options));
  auto layout = optimizer_layout(optimizer);
  if (!layout) return layout.error().within(name);
  put(to, name + ".layout", *std::move(layout));
  return {};
}

TrainingState::TrainingState() : parts_(std::make_unique<Parts>()) {}
TrainingState::~TrainingState() = default;

void TrainingState::add(const std::string& name, torch::nn::Module& module) {
  for (const auto& named :
       {module.named_parameters(), module.named_buffers()}) {
    for (const auto& item : named) {
      parts_->module_tensors.push_back(item.value());
      add(name + "." + item.key(), parts_->module_tensors.back());
    }
  }
}
void TrainingState::add(const std::string& name,
                        torch::optim::Optimizer& optimizer) {
  parts_->optimizers.emplace_back(name, &optimizer);
}
void TrainingState::add(const std::string& name, torch::Tensor& tensor) {
  parts_->tensors.emplace_back(name, &tensor);
}
void TrainingState::add(const std::string& name, DataOrder& order) {
  parts_->orders.emplace_back(name, &order);
}
void TrainingState::add(const std::string& name, std::int64_t& number) {
  parts_->numbers.push_back({name, &number, sizeof number});
}
void TrainingState::add(const std::string& name, double& number) {
  parts_->numbers.push_back({name, &number, sizeof number});
}
void TrainingState::add_rng(const std::string& name) {
  parts_->generators.push_back(name);
}

Result<std::vector<Piece>> TrainingState::pieces() {
  Parts& all = *parts_;
  all.held.clear();
  all.texts.clear();
  std::vector<Piece> out;
  for (const auto& [name, tensor] : all.tensors) {
    if (auto ok = all.put(out, name, *tensor); !ok) return ok.error();
  }
  for (const auto& number : all.numbers) {
    out.push_back(
        {number.name, "bytes", {}, bytes_of(number.at, number.size), 0});
  }
  for (const auto& [name, order] : all.orders) {
    out.push_back(
        {.name = name,
         .bytes = bytes_of(&order->state(), sizeof(DataOrder::State))});
  }
  for (const auto& name : all.generators) {
    const auto state = at::detail::getDefaultCPUGenerator().get_state();
    if (auto ok = all.put(out, name, state); !ok) return ok.error();
  }
  for (const auto& [name, optimizer] : all.optimizers) {
    if (auto ok = all.put(out, name, *optimizer); !ok) return ok.error();
  }
  return out;
}

Result<LivePieces> TrainingState::live() {
  auto all = pieces();
  if (!all) return all.error();
  std::unordered_map<const void*, torch::Tensor> owned;
  const auto own = [&](const torch::Tensor& tensor) {
    if (tensor.defined() && tensor.nbytes() > 0 && !tensor.is_inference()) {
      owned.emplace(tensor.data_ptr(), tensor);
    }
  };
  OptimizerVisitor visitor;
  visitor.tensor = [&](const std::string&, torch::Tensor& part) { own(part); };
  visitor.number = [](const std::string&, std::int64_t&) {};
  for (const auto& [name, optimizer] : parts_->optimizers) {
    for (const auto& group : optimizer->param_groups()) {
      for (const auto& param : group.params()) own(param);
    }
    if (auto ok = visit_state(*optimizer, create_none, visitor); !ok) {
      return ok.error().within(name);
    }
  }
  struct Watched {
    std::string name;
    torch::Tensor tensor;
    std::int64_t version;
  };
  std::vector<Watched> watched;
  for (Piece& piece : *all) {
    const auto at = owned.find(piece.bytes.data());
    if (at == owned.end() || at->second.nbytes() != piece.bytes.size()) {
      continue;
    }
    piece.steady = true;
    watched.push_back({piece.name, at->second, at->second._version()});
  }
  return LivePieces{
      *std::move(all), [watched = std::move(watched)]() -> Status {
        for (const auto& one : watched) {
          if (one.tensor._version() == one.version) continue;
          return invalid("\"" + one.name +
                         "\" was written while it was saved beside the "
                         "training; say before_update() before each update, or "
                         "save with begin()");
        }
        return {};
      }};
}

// That it is this job's, as far as names, types, shapes and sizes tell.
Status TrainingState::Parts::check(const Restored& from) const {
  const auto has = [&](const std::string& name, Bytes size) -> Status {
    const Piece* piece = from.find(name);
    if (piece == nullptr) return another_job(name, "is missing");
    if (size != 0 && piece->bytes.size() != size) {
      return another_job(name, "has another size");
    }
    return {};
  };
  for (const auto& [name, tensor] : tensors) {
    if (!tensor->defined() && from.find(name) == nullptr) continue;
    if (auto ok = has(name, 0); !ok) return ok;
    const Piece& piece = *from.find(name);
    if (!tensor->defined()) continue;
    if (auto ok = check_savable(name, *tensor); !ok) return ok;
    if (piece.shape != tensor->sizes().vec() ||
        piece.type != tensor_type_name(*tensor)) {
      return another_job(name, "has another shape or type");
    }
  }
  for (const auto& number : numbers) {
    if (auto ok = has(number.name, number.size); !ok) return ok;
  }
  for (const auto& [name, order] : orders) {
    if (auto ok = has(name, sizeof(DataOrder::State)); !ok) return ok;
  }
  for (const auto& name : generators) {
    if (auto ok = has(name, 0); !ok) return ok;
  }
  for (const auto& [name, optimizer] : optimizers) {
    if (auto ok = has(name + ".options", 0); !ok) return ok;
  }
  return {};
}

// The memory of those tensors that are filled where they are.
Places TrainingState::Parts::places(const Restored& from) const {
  Places out(from.pieces.size());
  for (const auto& [name, tensor] : tensors) {
    const Piece* piece = from.find(name);
    if (piece != nullptr && is_filled(*tensor)) {
      out[static_cast<std::size_t>(piece - from.pieces.data())] =
          static_cast<std::uint8_t*>(tensor->data_ptr());
    }
  }
  return out;
}

// What may yet be refused.
Status TrainingState::Parts::begin(const Restored& from) {
  for (const auto& [name, order] : orders) {
    if (state_of(from, name).position > order->samples()) {
      return another_job(name, "is over more samples");
    }
  }
  for (const auto& [name, optimizer] : optimizers) {
    if (auto ok = check_optimizer(from, name, *optimizer); !ok) return ok;
  }
  for (const auto& [name, optimizer] : optimizers) {
    if (auto ok = restore_optimizer(from, name, *optimizer); !ok) return ok;
  }
  return {};
}

// All that has no place.
Status TrainingState::Parts::finish(const Restored& from) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    const Piece* piece = from.find(name);
    if (piece == nullptr || is_filled(*tensor)) continue;
    auto made = tensor_of(*piece);
    if (!made) return made.error();
    if (tensor->defined()) tensor->copy_(*made);
    if (!tensor->defined()) *tensor = *made;
  }
  for (const auto& number : numbers) {
    std::memcpy(number.at, from.find(number.name)->bytes.data(), number.size);
  }
  for (const auto& [name, order] : orders) order->resume(state_of(from, name));
  for (const auto& name : generators) {
    auto state = tensor_of(*from.find(name));
    if (!state) return state.error();
    auto generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(*state);
  }
  return {};
}

Status TrainingState::restore(const Restored& from) {
  if (auto ok = parts_->check(from); !ok) return ok;
  if (auto ok = parts_->begin(from); !ok) return ok;
  const Places places = parts_->places(from);
  std::vector<PieceCopy> copies;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != nullptr)
      copies.push_back({places[i], from.pieces[i].bytes});
  }
  copy_pieces(copies, kThreads);
  return parts_->finish(from);
}

Result<CheckpointPool> TrainingState::open_pool(const std::string& path,
                                                PoolOptions pool,
                                                const SaveOptions& options) {
  auto there = CheckpointPool::open(path, options);
  if (there || there.error().code != Error::Code::kNotFound) return there;
  if (pool.slot_bytes == 0) {
    auto now = pieces();
    if (!now) return now.error();
    pool.slot_bytes = CheckpointPool::slot_bytes_for(*now, pool);
    // Optimizers keep nothing before their first step, and at most three
    // tensors a parameter (Adam with amsgrad, RMSprop) after it.
    for (const auto& [name, optimizer] : parts_->optimizers) {
      for (const auto& group : optimizer->param_groups()) {
        for (const auto& param : group.params()) {
          pool.slot_bytes += 3 * param.nbytes() + Bytes{8192};
        }
      }
    }
  }
  return CheckpointPool::create(path, pool, options);
}

Result<std::optional<std::uint64_t>> TrainingState::resume(CheckpointPool& pool,
                                                           const Tell& tell) {
  const auto found = pool.restore_into(
      {.places = [&](const Restored& from) -> Result<Places> {
         if (auto ok = parts_->check(from); !ok) return ok.error();
         return parts_->places(from);
       },
       .before_copy =
           [&](const Restored& from) { return parts_->begin(from); }});
  if (!found && found.error().code == Error::Code::kNotFound) {
    return std::optional<std::uint64_t>();
  }
  if (!found) return found.error();
  if (!found->damage.empty()) tell(found->passed_over());
  if (auto ok = parts_->finish(*found); !ok) return ok.error();
  return std::optional<std::uint64_t>(found->step);
}

}  // namespace thermocline
