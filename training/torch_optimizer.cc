#include "training/torch_optimizer.h"

#include <sstream>
#include <utility>

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

// use("GROUP.INDEX.", parameter) for each.
void each_parameter(optim::Optimizer& optimizer, const auto& use) {
  for (std::size_t g = 0; g < optimizer.param_groups().size(); ++g) {
    const auto& params = optimizer.param_groups()[g].params();
    for (std::size_t i = 0; i < params.size(); ++i) {
      use(std::to_string(g) + "." + std::to_string(i) + ".", params[i]);
    }
  }
}

Error not_supported() {
  return unsupported(
      "this kind of optimizer cannot be saved; use SGD, Adam, AdamW, RMSprop "
      "or Adagrad");
}

template <typename Kind>
bool is(optim::Optimizer& optimizer) {
  return dynamic_cast<Kind*>(&optimizer) != nullptr;
}

// use(kind's name, what it keeps for a parameter).
Status of_kind(optim::Optimizer& optimizer, const auto& use) {
  if (is<optim::SGD>(optimizer)) {
    use("SGD", optim::SGDParamState());
  } else if (is<optim::Adam>(optimizer)) {
    use("Adam", optim::AdamParamState());
  } else if (is<optim::AdamW>(optimizer)) {
    use("AdamW", optim::AdamWParamState());
  } else if (is<optim::RMSprop>(optimizer)) {
    use("RMSprop", optim::RMSpropParamState());
  } else if (is<optim::Adagrad>(optimizer)) {
    use("Adagrad", optim::AdagradParamState());
  } else {
    return not_supported();
  }
  return {};
}

}  // namespace

Status visit_state(optim::Optimizer& optimizer,
                   const std::function<bool(const std::string&)>& create,
                   const OptimizerVisitor& visitor) {
  return of_kind(optimizer, [&](const char*, auto empty) {
    using State = decltype(empty);
    auto& states = optimizer.state();
    each_parameter(optimizer, [&](const std::string& prefix,
                                  const torch::Tensor& parameter) {
      // LibTorch's own key.
      const auto key = c10::guts::to_string(parameter.unsafeGetTensorImpl());
      auto at = states.find(key);
      if (at == states.end()) {
        if (!create(prefix)) return;
        at = states.emplace(key, std::make_unique<State>()).first;
      }
      parts(static_cast<State&>(*at->second), Visit{visitor, prefix});
    });
  });
}

Result<std::map<std::string, std::vector<std::int64_t>>> optimizer_shapes(
    optim::Optimizer& optimizer) {
  std::map<std::string, std::vector<std::int64_t>> out;
  const auto ok = of_kind(optimizer, [&](const char*, auto empty) {
    each_parameter(optimizer, [&](const std::string& prefix,
                                  const torch::Tensor& parameter) {
      OptimizerVisitor visitor;
      visitor.tensor = [&](const std::string& part, torch::Tensor&) {
        out[part] = parameter.sizes().vec();
      };
      visitor.number = [&](const std::string& part, std::int64_t&) {
        out[part] = {};
      };
      parts(empty, Visit{visitor, prefix});
    });
  });
  if (!ok) return ok.error();
  return out;
}

Result<std::string> optimizer_layout(optim::Optimizer& optimizer) {
  std::string out;
  const auto ok = of_kind(optimizer, [&](const char* kind, auto) {
    out = std::string(kind) + " over ";
    const char* between = "";
    for (const auto& group : optimizer.param_groups()) {
      out +=
          std::exchange(between, " + ") + std::to_string(group.params().size());
    }
    out += " parameters";
  });
  if (!ok) return ok.error();
  return out;
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
        "the options saved are of another kind of optimizer, or of fewer "
        "groups; resume with the kind and the groups that they were saved "
        "from");
  }
}

}  // namespace thermocline
