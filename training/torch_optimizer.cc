#include "training/torch_optimizer.h"

#include <sstream>

#include "traces/libtorch.h"

namespace thermocline {
namespace {

namespace optim = torch::optim;

// What each kind keeps for a parameter.
void parts(optim::SGDParamState& state, const auto& visit) {
  visit("momentum_buffer", state.momentum_buffer());
}
void parts(optim::AdamParamState& state, const auto& visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
  visit("max_exp_avg_sq", state.max_exp_avg_sq());
}
void parts(optim::AdamWParamState& state, const auto& visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
  visit("max_exp_avg_sq", state.max_exp_avg_sq());
}
void parts(optim::RMSpropParamState& state, const auto& visit) {
  visit("step", state.step());
  visit("square_avg", state.square_avg());
  visit("momentum_buffer", state.momentum_buffer());
  visit("grad_avg", state.grad_avg());
}
void parts(optim::AdagradParamState& state, const auto& visit) {
  visit("step", state.step());
  visit("sum", state.sum());
}

struct Visit {
  const OptimizerVisitor& to;
  std::string prefix;
  void operator()(const char* name, torch::Tensor& value) const {
    to.tensor(prefix + name, value);
  }
  void operator()(const char* name, std::int64_t& value) const {
    to.number(prefix + name, value);
  }
};

template <typename State>
void visit_all(optim::Optimizer& optimizer,
               const std::function<bool(const std::string&)>& create,
               const OptimizerVisitor& visitor) {
  auto& states = optimizer.state();
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    const auto& params = optimizer.param_groups()[g].params();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const std::string prefix =
          std::to_string(g) + "." + std::to_string(i) + ".";
      // LibTorch's own key.
      const auto key = c10::guts::to_string(params[i].unsafeGetTensorImpl());
      auto at = states.find(key);
      if (at == states.end()) {
        if (!create(prefix)) continue;
        at = states.emplace(key, std::make_unique<State>()).first;
      }
      parts(static_cast<State&>(*at->second), Visit{visitor, prefix});
    }
  }
}

Error not_supported() {
  return unsupported(
      "this kind of optimizer cannot be saved; use SGD, Adam, AdamW, RMSprop "
      "or Adagrad");
}

}  // namespace

Status visit_state(optim::Optimizer& optimizer,
                   const std::function<bool(const std::string&)>& create,
                   const OptimizerVisitor& visitor) {
  if (dynamic_cast<optim::SGD*>(&optimizer) != nullptr) {
    visit_all<optim::SGDParamState>(optimizer, create, visitor);
  } else if (dynamic_cast<optim::Adam*>(&optimizer) != nullptr) {
    visit_all<optim::AdamParamState>(optimizer, create, visitor);
  } else if (dynamic_cast<optim::AdamW*>(&optimizer) != nullptr) {
    visit_all<optim::AdamWParamState>(optimizer, create, visitor);
  } else if (dynamic_cast<optim::RMSprop*>(&optimizer) != nullptr) {
    visit_all<optim::RMSpropParamState>(optimizer, create, visitor);
  } else if (dynamic_cast<optim::Adagrad*>(&optimizer) != nullptr) {
    visit_all<optim::AdagradParamState>(optimizer, create, visitor);
  } else {
    return not_supported();
  }
  return {};
}

void clear_state(optim::Optimizer& optimizer) { optimizer.state().clear(); }

Result<std::string> optimizer_options(optim::Optimizer& optimizer) {
  try {
    torch::serialize::OutputArchive all;
    for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
      torch::serialize::OutputArchive one(all.compilation_unit());
      optimizer.param_groups()[g].options().serialize(one);
      all.write(std::to_string(g), one);
    }
    std::ostringstream out;
    all.save_to(out);
    return out.str();
  } catch (const std::exception&) {
    return not_supported();
  }
}

Status set_optimizer_options(optim::Optimizer& optimizer,
                             const std::string& bytes) {
  try {
    torch::serialize::InputArchive all;
    all.load_from(bytes.data(), bytes.size());
    for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
      torch::serialize::InputArchive one;
      all.read(std::to_string(g), one);
      optimizer.param_groups()[g].options().serialize(one);
    }
    return {};
  } catch (const std::exception&) {
    return corrupt(
        "the options saved are of another kind of optimizer; resume with the "
        "kind that it was saved from");
  }
}

}  // namespace thermocline
