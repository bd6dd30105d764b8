// The tensor observer in real jobs: Debian's python3-torch and a C++ program.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/tracer/observed_job.h"

namespace thermocline {
namespace {

const char* const kPython = "/usr/bin/python3";

const char* const kTinyJob = "tests/tracer/tiny_job.py";

std::string tiny_torch_job() { return std::string(JOBS) + "/tiny_torch_job"; }

std::string nested_operators_job() {
  return std::string(JOBS) + "/nested_operators_job";
}

// Everything of one process, with the rules that must hold checked.
struct Heard {
  std::map<ObjectId, Tensor> tensors;
  std::set<ObjectId> dead;
  std::vector<Operator> operators;
  std::vector<std::string> marks;
  std::map<std::string, std::uint64_t> figures;
  std::uint64_t lost = 0;
  int hellos = 0, goodbyes = 0;
  std::string framework;

  std::map<Address, const Tensor*> alive;

  void take(const Tensor& tensor) {
    EXPECT_TRUE(tensors.emplace(tensor.serial, tensor).second);
    EXPECT_EQ(tensor.address % 64, 0u) << "not what alloc_cpu gives";
    const auto after = alive.lower_bound(tensor.address);
    if (after != alive.end()) {
      EXPECT_LE(tensor.address + tensor.bytes, after->first);
    }
    if (after != alive.begin()) {
      const auto& before = *std::prev(after)->second;
      EXPECT_LE(before.address + before.bytes, tensor.address);
    }
    alive.emplace(tensor.address, &tensors.at(tensor.serial));
  }
  void take(const TensorDied& died) {
    ASSERT_TRUE(tensors.contains(died.serial));
    EXPECT_TRUE(dead.insert(died.serial).second) << "died twice";
    EXPECT_GE(died.time, tensors.at(died.serial).born);
    alive.erase(tensors.at(died.serial).address);
  }
  void take(const Operator& op) {
    EXPECT_LE(op.start, op.end);
    EXPECT_NE(op.name, "");
    EXPECT_FALSE(op.reads.empty() && op.writes.empty());
    for (const auto* list : {&op.reads, &op.writes}) {
      for (const auto serial : *list) EXPECT_TRUE(tensors.contains(serial));
    }
    operators.push_back(op);
  }
  void take(const Mark& mark) { marks.push_back(mark.name); }
  void take(const Loss& loss) {
    if (loss.source == "observer") lost += loss.count;
  }
  void take(const ObserverHello& hello) {
    EXPECT_TRUE(tensors.empty() && operators.empty());
    framework = hello.framework;
    ++hellos;
  }
  void take(const ObserverFigure& figure) {
    figures[figure.name] = figure.value;
  }
  void take(const ObserverGoodbye&) { ++goodbyes; }

  long count(const std::string& name) const {
    return std::count_if(operators.begin(), operators.end(),
                         [&](const auto& op) { return op.name == name; });
  }
  const Operator* find(const std::string& name, Phase phase) const {
    for (const auto& op : operators) {
      if (op.name == name && op.phase == phase) return &op;
    }
    return nullptr;
  }
};

std::map<int, Heard> listen(const ObservedJob& job) {
  std::map<int, Heard> heard;
  for (const auto& event : job.events) {
    auto& process = heard[event.pid];
    std::visit([&](const auto& what) { process.take(what); }, event.what);
  }
  return heard;
}

class Observer : public testing::Test {
 protected:
  Observer() : path_(scratch_path("observer")) {
    auto made = ObserverServer::listen(path_);
    EXPECT_TRUE(made) << made.error().message;
    server_ = std::make_unique<ObserverServer>(*std::move(made));
  }
  ObservedJob run(const std::vector<std::string>& command) {
    auto job = run_job(command, server_.get(), {.socket = path_});
    EXPECT_EQ(job.status, 0) << job.output << job.errors;
    EXPECT_EQ(job.errors, "") << "a warning, perhaps inputs_valid_'s";
    return job;
  }
  std::string path_;
  std::unique_ptr<ObserverServer> server_;
};

void expect_training(const Heard& heard) {
  EXPECT_EQ(heard.framework.rfind("torch 1.13", 0), 0u) << heard.framework;
  EXPECT_EQ(heard.hellos, 1);
  EXPECT_EQ(heard.goodbyes, 1);
  EXPECT_EQ(heard.lost, 0u);
  EXPECT_EQ(heard.marks, (std::vector<std::string>{"step 1", "step 2", "step 3",
                                                   "step 4", "step 5"}));
  EXPECT_NE(heard.find("aten::linear", Phase::kForward), nullptr);
  EXPECT_NE(heard.find("aten::mm", Phase::kBackward), nullptr);
  EXPECT_NE(heard.find("aten::addcdiv_", Phase::kOptimizer), nullptr);
  EXPECT_EQ(heard.find("aten::addmm", Phase::kForward), nullptr)
      << "not the topmost operator";
  EXPECT_EQ(heard.find("aten::t", Phase::kBackward), nullptr)
      << "a view touches nothing";
  EXPECT_GT(heard.dead.size(), heard.tensors.size() / 2);
}

void expect_reads_and_writes(const Heard& heard) {
  const auto* const forward = heard.find("aten::linear", Phase::kForward);
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->reads.size(), 3u);  // input, weight, bias
  ASSERT_EQ(forward->writes.size(), 1u);
  EXPECT_EQ(heard.tensors.at(forward->writes[0]).bytes, 16u * 64 * 4);
  // Adam: parameter += moment / denominator; the parameter is read as well.
  const auto* const step = heard.find("aten::addcdiv_", Phase::kOptimizer);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->reads.size(), 3u);
  ASSERT_EQ(step->writes.size(), 1u);
  EXPECT_EQ(step->writes[0], step->reads[0]);
  EXPECT_EQ(step->reads[0], forward->reads[1]) << "the first layer's weight";
  // Initialisation overwrites.
  const auto* const init = heard.find("aten::uniform_", Phase::kForward);
  ASSERT_NE(init, nullptr);
  EXPECT_TRUE(init->reads.empty());
}

// Backward operators belong to the layer of their forward.
void expect_layers(const Heard& heard) {
  std::set<std::pair<std::string, std::string>> layers;
  for (const auto& op : heard.operators) {
    if (op.phase == Phase::kBackward) layers.emplace(op.name, op.layer);
    if (op.name == "aten::cross_entropy_loss") {
      EXPECT_EQ(op.layer, "");
    }
  }
  EXPECT_TRUE(layers.contains({"aten::threshold_backward", "first_layer"}));
  EXPECT_TRUE(layers.contains({"aten::mm", "first_layer"}));
  EXPECT_TRUE(layers.contains({"aten::mm", ""})) << "the second layer's";
}

TEST_F(Observer, SeesAPythonTrainingJobAndChangesNoBit) {
  const std::vector<std::string> command{kPython, kTinyJob, "train"};
  const auto job = run(command);
  auto all = listen(job);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_TRUE(all.contains(job.pid));
  expect_training(all[job.pid]);
  expect_reads_and_writes(all[job.pid]);
  expect_layers(all[job.pid]);
  const auto bare = run_job(command, nullptr, {.preload = false});
  EXPECT_EQ(bare.status, 0);
  EXPECT_NE(bare.output, "");
  EXPECT_EQ(bare.output, job.output) << "losses, bit for bit";
}

TEST_F(Observer, SeesThreadsAndChildren) {
  const auto job = run({kPython, kTinyJob, "family", tiny_torch_job()});
  auto all = listen(job);
  ASSERT_EQ(all.size(), 3u) << "the job, its child, the program that it ran";
  int forked = 0, executed = 0;
  for (const auto& [pid, heard] : all) {
    EXPECT_EQ(heard.hellos, 1);
    EXPECT_EQ(heard.goodbyes, 1);
    const bool child = heard.find("aten::xlogy_", Phase::kForward) != nullptr;
    EXPECT_EQ(pid == job.pid && child, false) << "only the child does that";
    if (pid == job.pid) continue;
    forked += child;
    if (child) {
      for (const auto& op : heard.operators) {
        EXPECT_EQ(op.thread, static_cast<std::uint32_t>(pid));
      }
      continue;
    }
    ++executed;
    EXPECT_NE(heard.find("aten::matmul", Phase::kForward), nullptr);
    EXPECT_NE(heard.find("aten::mm", Phase::kBackward), nullptr);
  }
  EXPECT_EQ(forked, 1);
  EXPECT_EQ(executed, 1);
  std::set<std::uint32_t> threads;
  std::size_t products = 0;
  for (const auto& op : all[job.pid].operators) {
    if (op.name != "aten::matmul") continue;
    threads.insert(op.thread);
    ++products;
  }
  EXPECT_EQ(products, 800u);
  EXPECT_EQ(threads.size(), 4u);
}

TEST_F(Observer, SeesTheWorkersOfADataLoader) {
  const auto bare =
      run_job({kPython, kTinyJob, "loader"}, nullptr, {.preload = false});
  const auto job = run({kPython, kTinyJob, "loader"});
  EXPECT_EQ(job.output, bare.output);
  auto all = listen(job);
  ASSERT_EQ(all.size(), 3u) << "the job and two workers";
  std::size_t squares = 0, stacks = 0;
  for (const auto& [pid, heard] : all) {
    EXPECT_EQ(heard.hellos, 1);
    for (const auto& op : heard.operators) {
      squares += op.name == "aten::square_";
      stacks += op.name == "aten::stack";
      EXPECT_TRUE(pid != job.pid || op.name != "aten::square_");
    }
  }
  EXPECT_EQ(squares, 64u) << "none is lost, though workers leave by _exit";
  EXPECT_EQ(stacks, 8u);
}

TEST_F(Observer, SeesALinkedProgramAndChangesNoBit) {
  const auto bare = run_job({tiny_torch_job()}, nullptr, {.preload = false});
  const auto job = run({tiny_torch_job()});
  EXPECT_EQ(bare.output, job.output);
  auto all = listen(job);
  ASSERT_EQ(all.size(), 1u);
  const Heard& heard = all.begin()->second;
  EXPECT_EQ(heard.goodbyes, 1);
  EXPECT_EQ(heard.lost, 0u);
  // It has no torch.optim: the update is found out, and so are the steps.
  const auto* const update = heard.find("aten::sub_", Phase::kOptimizer);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->writes.size(), 1u);
  EXPECT_EQ(heard.find("aten::matmul", Phase::kOptimizer), nullptr);
  EXPECT_EQ(heard.marks, (std::vector<std::string>{"step 1", "step 2"}))
      << "told when the next begins";
}

// What an operator runs inside is recorded for nobody: not at all, but for a
// look now and then. 200 times 20 of them.
TEST_F(Observer, WhatNobodyLooksAtIsNotRecorded) {
  const auto job = run({nested_operators_job()});
  int recorded = 0;
  ASSERT_EQ(std::sscanf(job.output.c_str(), "recorded within %d", &recorded), 1)
      << job.output;
  EXPECT_GT(recorded, 0);
  EXPECT_LT(recorded, 50) << "of 200";
  const auto all = listen(job);
  EXPECT_EQ(all.begin()->second.count("tiny::many"), 200);
  EXPECT_EQ(all.begin()->second.count("aten::add_"), 0) << "not the topmost";
  EXPECT_EQ(all.begin()->second.count("aten::mul_"), 1);
}

TEST_F(Observer, AnOperatorThatThrowsIsFollowedByOthers) {
  const auto job = run({nested_operators_job(), "throws"});
  EXPECT_NE(job.output.find("caught thirteen"), std::string::npos);
  EXPECT_NE(job.output.find("recorded after 1"), std::string::npos);
  EXPECT_EQ(listen(job).begin()->second.count("aten::mul_"), 1);
}

TEST_F(Observer, AnotherListenerHearsAllThatItWouldHaveHeard) {
  const auto job = run({nested_operators_job(), "others"});
  const auto bare =
      run_job({nested_operators_job(), "others"}, nullptr, {.preload = false});
  EXPECT_EQ(bare.output, job.output);
  EXPECT_NE(job.output.find("recorded within 200"), std::string::npos);
}

TEST_F(Observer, AJobOutlivesAListenerThatNeverReads) {
  // Many times what sockets hold.
  const auto job = run_job({tiny_torch_job(), "20000"}, server_.get(),
                           {.listen = false, .socket = path_});
  EXPECT_EQ(job.status, 0) << job.errors;
  EXPECT_EQ(job.errors, "");
  EXPECT_NE(job.output, "");
}

TEST_F(Observer, AJobNeedsNoListener) {
  server_.reset();
  const auto job = run_job({tiny_torch_job()}, nullptr, {.socket = path_});
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.errors, "") << "silent unless asked";
  const auto asked =
      run_job({tiny_torch_job()}, nullptr, {.socket = path_, .debug = true});
  EXPECT_EQ(asked.status, 0);
  EXPECT_EQ(std::count(asked.errors.begin(), asked.errors.end(), '\n'), 1);
  EXPECT_NE(asked.errors.find("nobody listens on " + path_), asked.errors.npos);
}

TEST_F(Observer, DoesNothingUnasked) {
  const auto job = run_job({tiny_torch_job(), "maps"}, server_.get(), {});
  EXPECT_EQ(job.status, 0);
  EXPECT_TRUE(job.events.empty());
  EXPECT_EQ(job.output.find("thermocline_observer_torch"), job.output.npos);
  EXPECT_NE(job.output.find("thermocline_observer.so"), job.output.npos);
}

TEST_F(Observer, SaysThatItKnowsAnotherLibTorchNot) {
  const auto other = std::string(JOBS) + "/libtorch_cpu.so.2.1";
  const auto job = run_job({kPython, "-c",
                            "import ctypes, zlib; ctypes.CDLL('" + other +
                                "'); import _ctypes, _json; print('on')"},
                           server_.get(), {.socket = path_});
  EXPECT_EQ(job.status, 0);
  EXPECT_EQ(job.output, "on\n") << "the job runs on";
  EXPECT_TRUE(job.events.empty());
  EXPECT_EQ(std::count(job.errors.begin(), job.errors.end(), '\n'), 1);
  EXPECT_NE(job.errors.find(other + " is not libtorch_cpu.so.1.13"),
            job.errors.npos)
      << job.errors;
}

TEST_F(Observer, IsNothingToOtherPrograms) {
  const auto job = run({"/bin/ls", "/"});
  EXPECT_TRUE(job.events.empty());
  const auto plugin = run({std::string(JOBS) + "/run_path_job"});
  EXPECT_EQ(plugin.output, "answer 42\n");
}

}  // namespace
}  // namespace thermocline
