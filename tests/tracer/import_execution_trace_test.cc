#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tracer/import_bytes.h"
#include "tracer/execution_node.h"
#include "traces/summary.h"

namespace thermocline {
namespace {

// The published peaks are of CUDA tensors, in units of a million bytes.
double peak_mb(const Trace& trace) {
  return static_cast<double>(peak_live_bytes(trace)) * 1e-6;
}

TEST(ImportExecutionTrace, ThePublishedPeakOfASmallModel) {
  const auto imported = import_file("tests/golden/linear_et.json.gz");
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "execution-trace");
  const Trace& trace = imported->trace;
  EXPECT_NEAR(peak_mb(trace), 233.0, 0.05);
  EXPECT_EQ(trace.tensors.size(), 243u);
  EXPECT_EQ(std::count_if(trace.tensors.begin(), trace.tensors.end(),
                          [](const Tensor& t) { return t.died == -1; }),
            88);
  EXPECT_TRUE(trace.end.known);
  EXPECT_EQ(trace.run_ns(), 931) << "nodes";
  EXPECT_TRUE(std::any_of(
      trace.operators.begin(), trace.operators.end(), [](const Operator& op) {
        return op.name == "aten::addmm" || op.name == "aten::linear";
      }));
}

TEST(ImportExecutionTrace, ThePublishedPeakOfAResNet) {
  const auto imported = import_file("tests/golden/resnet_et.json.gz");
  ASSERT_TRUE(imported) << imported.error().message;
  const Trace& trace = imported->trace;
  EXPECT_NEAR(peak_mb(trace), 3090.0, 0.05);
  EXPECT_EQ(trace.tensors.size(), 2128u);
  std::vector<std::string> steps;
  for (const auto& mark : trace.marks) {
    if (mark.name.rfind("step", 0) == 0) steps.push_back(mark.name);
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"step 6", "step 7", "step 8"}));
}

// A node of schema 1.0.
std::string node(int id, int parent, const std::string& schema,
                 const std::string& inputs, const std::string& outputs,
                 int scope = 0, const std::string& name = "aten::op") {
  const auto types = [](const std::string& values) {
    const auto count = std::count(values.begin(), values.end(), '[');
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += std::string(i == 0 ? "" : ",") + "\"Tensor(float)\"";
    }
    return all;
  };
  return R"({"name": ")" + name + R"(", "id": )" + std::to_string(id) +
         R"(, "rf_id": 0, "parent": )" + std::to_string(parent) +
         R"(, "scope": )" + std::to_string(scope) +
         R"(, "tid": 1, "op_schema": ")" + schema + R"(", "inputs": [)" +
         inputs + R"(], "input_types": [)" + types(inputs) +
         R"(], "outputs": [)" + outputs + R"(], "output_types": [)" +
         types(outputs) + "]}";
}

std::string trace_of(const std::vector<std::string>& nodes) {
  std::string all = R"({"schema": "1.0.1", "nodes": [)";
  for (const auto& one : nodes) all += (&one == nodes.data() ? "" : ",") + one;
  return all + "]}";
}

constexpr const char* kSchema = "aten::op(Tensor self) -> Tensor";

TEST(ImportExecutionTrace, AStorageHoldsOneTensorAfterTheOther) {
  const auto imported = import_text(trace_of({
      // Within node 2: storage 10 is given out, and again by its parent.
      node(3, 2, kSchema, "", R"([7,10,0,4,4,"cpu"])"),
      node(2, 1, kSchema, R"([6,9,0,8,4,"cpu"])", R"([7,10,0,4,4,"cpu"])"),
      node(4, 1, "aten::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
           R"([7,10,0,4,4,"cpu"],[6,9,0,8,4,"cpu"])", R"([7,10,0,4,4,"cpu"])"),
      // A new tensor in the same storage.
      node(5, 1, kSchema, "", R"([8,10,2,4,4,"cpu"])"),
  }));
  ASSERT_TRUE(imported) << imported.error().message;
  const Trace& trace = imported->trace;
  ASSERT_EQ(trace.tensors.size(), 3u);
  const auto& first = trace.tensors[0];
  EXPECT_EQ(first.born, 0);
  EXPECT_EQ(first.died, 3);
  EXPECT_EQ(first.bytes, 16u);
  const auto& existing = trace.tensors[1];
  EXPECT_EQ(existing.label, "pre-existing");
  EXPECT_EQ(existing.died, -1);
  EXPECT_EQ(existing.bytes, 32u);
  const auto& second = trace.tensors[2];
  EXPECT_EQ(second.born, 3);
  EXPECT_EQ(second.bytes, 24u);
  EXPECT_EQ(second.address, first.address);
  EXPECT_NE(existing.address, first.address);
  ASSERT_EQ(trace.operators.size(), 3u) << "the inner one is no operator";
  EXPECT_EQ(trace.operators[0].start, 0) << "begins with what is within";
  EXPECT_EQ(trace.operators[0].end, 2);
  EXPECT_EQ(trace.operators[1].writes, std::vector<ObjectId>{first.serial});
  EXPECT_EQ(trace.operators[1].reads, std::vector<ObjectId>{existing.serial});
}

TEST(ImportExecutionTrace, PhasesComeFromWhatIsAround) {
  const auto imported = import_text(trace_of({
      node(3, 2, kSchema, R"([1,1,0,1,4,"cpu"])", ""),
      node(2, 1, "", "", "", 1, "AddBackward0"),
      node(5, 4, kSchema, R"([1,1,0,1,4,"cpu"])", ""),
      node(4, 1, "", "", "", 7, "Optimizer.step#SGD.step"),
      node(6, 1, kSchema, R"([1,1,0,1,4,"cpu"])", ""),
  }));
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->trace.operators.size(), 3u);
  EXPECT_EQ(imported->trace.operators[0].phase, Phase::kBackward);
  EXPECT_EQ(imported->trace.operators[1].phase, Phase::kOptimizer);
  EXPECT_EQ(imported->trace.operators[2].phase, Phase::kForward);
}

TEST(ImportExecutionTrace, KeepsOneDevice) {
  const auto text = trace_of({
      node(2, 1, kSchema, R"([1,1,0,100,4,"cuda:0"])", R"([2,2,0,1,4,"cpu"])"),
  });
  const auto largest = import_text(text);
  ASSERT_TRUE(largest);
  ASSERT_EQ(largest->trace.tensors.size(), 1u);
  EXPECT_EQ(largest->trace.tensors[0].bytes, 400u);
  ASSERT_EQ(largest->trace.losses.size(), 1u);
  const auto cpu =
      import_text(text, as_format("execution-trace", R"({"device": "cpu"})"));
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->trace.tensors[0].bytes, 4u);
}

TEST(ImportExecutionTrace, RefusesWhatIsMalformed) {
  const auto format = as_format("execution-trace");
  expect_error(import_text(R"({"nodes": [{}]})", format), {"offset", "no id"});
  expect_error(import_text(R"({"nodes": [{"id": 7, "name": "x"}]})", format),
               {"node 7", "no parent"});
  expect_error(import_text(R"({"nodes": []})", format), {"without one node"});
  expect_error(import_text(R"({"nodes": [)", format), {"the JSON is cut"});
  expect_error(import_text("nodes", format), {"offset", "not JSON"});
  // Sizes that lie: 2^63 elements of 8 bytes.
  expect_error(
      import_text(trace_of(
          {node(2, 1, kSchema, R"([1,1,0,9223372036854775808,8,"cpu"])", "")})),
      {"node 2", "a tensor is malformed"});
  // Parents in a circle.
  const auto circle = import_text(
      trace_of({node(2, 3, kSchema, "", ""), node(3, 2, kSchema, "", "")}));
  EXPECT_TRUE(circle.has_value());
}

TEST(ImportExecutionTrace, WhichArgumentsASchemaWrites) {
  using Written = std::vector<bool>;
  EXPECT_EQ(written_arguments("aten::add_.Tensor(Tensor(a!) self, Tensor "
                              "other, *, Scalar alpha=1) -> Tensor(a!)"),
            (Written{true, false, false}));
  EXPECT_EQ(written_arguments("aten::_foreach_add_(Tensor(a!)[] self, Scalar "
                              "scalar) -> ()"),
            (Written{true, false}));
  EXPECT_EQ(written_arguments("aten::f() -> Tensor"), Written{});
  EXPECT_EQ(written_arguments("aten::f(Tensor[2] a, int[] b=[1, 2]"),
            (Written{false}));
  EXPECT_EQ(written_arguments(""), Written{});
}

}  // namespace
}  // namespace thermocline
