// execution-trace: a PyTorch execution trace (ExecutionTraceObserver, JSON):
// operators and tensors of a job, without times and addresses.
//
// For a clock there are the nodes that have ended: one is one nanosecond. An
// operator is the topmost node with a schema, as PyTorch's own memory profiler
// has it. Addresses are laid out anew: a storage has one, so that tensors
// which shared one still do.
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tracer/execution_node.h"
#include "tracer/import_json.h"
#include "tracer/importer.h"
#include "tracer/tensor_lifetimes.h"
#include "traces/fields.h"

namespace thermocline {
namespace {

constexpr Address kFirstAddress = Address{1} << 32;
constexpr Bytes kPage = 4096;
// What runs an autograd node, and sums what it gives where shapes ask for it.
constexpr std::string_view kAutograd = "autograd::engine::evaluate_function";
// What a node costs beside its operator.
constexpr Bytes kNodeBytes = 96;

class ExecutionTrace final : public Importer {
 public:
  struct Options {
    std::string device;
    bool refined = false;
    void fields(auto& f) {
      f("device", device,
        "keep tensors of devices whose name begins so (cuda, cpu); empty: the "
        "device that holds most bytes");
      f("refined", refined,
        "refine the published rule for lifetimes: results are made by the "
        "outermost operator, views tell no size, numbers are tensors of their "
        "own; closer to what an allocator sees, for traces of a CPU");
    }
  };
  static Result<std::unique_ptr<Importer>> make(const Options& options) {
    return std::unique_ptr<Importer>(new ExecutionTrace(options));
  }
  explicit ExecutionTrace(const Options& options)
      : device_(options.device), lifetimes_(options.refined) {}

  bool recognises(std::string_view head) const override {
    const auto has = [&](const char* what) {
      return head.find(what) != head.npos;
    };
    return has("\"nodes\"") && has("\"rf_id\"") && has("\"op_schema\"");
  }

  Status read(ImportInput& in, ImportedTrace& out) override {
    JsonUse use;
    use.list = "nodes";
    use.member = [](const std::string&, nlohmann::json&) { return Status(); };
    use.element = [&](nlohmann::json& json) -> Status {
      auto node = read_execution_node(json);
      if (!node) return node.error();
      take(*node, out);
      return out.room(in);
    };
    auto status = read_json_list(in, use);
    finish(out);
    if (status && nodes_.empty()) {
      return corrupt("offset " + std::to_string(in.offset()) +
                     ": ends without one node; make it with PyTorch's "
                     "ExecutionTraceObserver");
    }
    return status;
  }

 private:
  // What a node passes on to those within it.
  struct Node {
    std::uint64_t parent = 0;
    Nanos first = 0;  // when the first node within it ended
    Phase phase = Phase::kUnknown;
    bool has_schema = false;
    bool settled = false;  // the next holds, and so does the phase
    bool within_operator = false;
  };

  void take(const ExecutionNode& from, ImportedTrace& out) {
    Operator op;
    lifetimes_.add(from, now_, op.reads, op.writes);
    out.spend(kNodeBytes + (lifetimes_.all().size() - known_) *
                               sizeof(TensorLifetimes::Lifetime));
    known_ = lifetimes_.all().size();
    auto& node = nodes_.try_emplace(from.id, Node{0, now_}).first->second;
    node.parent = from.parent;
    node.has_schema = from.has_schema;
    if (from.scope == ExecutionNode::kBackwardScope ||
        from.name.rfind(kAutograd, 0) == 0) {
      node.phase = Phase::kBackward;
    } else if (from.name.rfind("Optimizer.", 0) == 0) {
      node.phase = Phase::kOptimizer;
    }
    const Nanos first = node.first;
    // The parent is yet to come; its first node may be this one.
    if (from.parent < from.id) nodes_.try_emplace(from.parent, Node{0, first});
    if (from.name.rfind("ProfilerStep#", 0) == 0) {
      out.add(Mark{first, "step " + from.name.substr(13)});
    }
    ++now_;
    if (!from.has_schema) return;
    op.name = from.name;
    op.start = first;
    op.end = now_;
    op.thread = from.thread;
    operators_.push_back({from.id, out.trace.operators.size()});
    out.add(std::move(op));
  }

  // Whether the node is within an operator, and its phase; follows parents up
  // to one that is settled.
  Node& settle(std::uint64_t id) {
    std::vector<Node*> path;
    Node* node = &nodes_.at(id);
    while (!node->settled) {
      node->settled = true;  // a loop ends here
      path.push_back(node);
      const auto parent = nodes_.find(node->parent);
      if (parent == nodes_.end()) break;
      node = &parent->second;
    }
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      const auto parent = nodes_.find((*at)->parent);
      if (parent == nodes_.end()) continue;
      const auto& above = parent->second;
      (*at)->within_operator = above.has_schema || above.within_operator;
      if ((*at)->phase == Phase::kUnknown) (*at)->phase = above.phase;
    }
    return nodes_.at(id);
  }

  void finish(ImportedTrace& out) {
    out.trace.info.clock = "nodes";
    keep_operators(out.trace);
    keep_tensors(out);
    out.add(Mark{0, "start"});
    out.add(Mark{now_, "end"});
    out.note("an execution trace knows no time: one node is shown as 1 ns");
    out.note("it knows no addresses: those here are laid out anew");
  }

  void keep_operators(Trace& trace) {
    std::vector<Operator> kept;
    for (const auto& [id, index] : operators_) {
      const auto& node = settle(id);
      if (node.within_operator) continue;
      kept.push_back(std::move(trace.operators[index]));
      kept.back().phase =
          node.phase == Phase::kUnknown ? Phase::kForward : node.phase;
    }
    trace.operators = std::move(kept);
  }

  void keep_tensors(ImportedTrace& out) {
    const auto device = device_.empty() ? lifetimes_.largest_device() : device_;
    std::unordered_map<std::uint64_t, Bytes> sizes;  // of storages
    std::uint64_t others = 0;
    const auto wanted = [&](const TensorLifetimes::Lifetime& one) {
      return lifetimes_.device(one).rfind(device, 0) == 0;
    };
    for (const auto& one : lifetimes_.all()) {
      if (!wanted(one)) {
        ++others;
        continue;
      }
      auto& size = sizes[one.storage];
      size = std::max(size, one.tensor.bytes);
    }
    std::unordered_map<std::uint64_t, Address> places;
    Address next = kFirstAddress;
    for (const auto& one : lifetimes_.all()) {
      if (!wanted(one)) continue;
      const auto [at, fresh] = places.try_emplace(one.storage, next);
      if (fresh) next += (sizes[one.storage] + kPage - 1) / kPage * kPage;
      Tensor tensor = one.tensor;
      tensor.address = at->second;
      if (one.existed) tensor.label = "pre-existing";
      out.add(std::move(tensor));
    }
    if (!device.empty()) out.note("tensors are those on " + device);
    if (others > 0) {
      out.note(std::to_string(others) + " tensors on other devices were left " +
               "out");
      out.add(Loss{now_, "other devices", others});
    }
  }

  std::string device_;
  TensorLifetimes lifetimes_;
  std::size_t known_ = 0;  // lifetimes that were counted
  std::unordered_map<std::uint64_t, Node> nodes_;
  struct Candidate {
    std::uint64_t id;
    std::size_t index;  // among the trace's operators
  };
  std::vector<Candidate> operators_;
  Nanos now_ = 0;
};

const Register<Importer> kEntry{
    "execution-trace",
    entry<Importer, ExecutionTrace>("A PyTorch execution trace (JSON): tensors "
                                    "and operators, without times.")};

}  // namespace
}  // namespace thermocline
