// Real jobs whose tensors are placed by the observer: they must not notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/tracer/observed_job.h"

namespace thermocline {
namespace {

const char* const kPython = "/usr/bin/python3";
const char* const kWorkload = "tests/machine/workloads/torch_training.py";

class AggregatedJob : public testing::Test {
 protected:
  AggregatedJob() : path_(scratch_path("aggregated")) {
    auto made = ObserverServer::listen(path_);
    EXPECT_TRUE(made) << made.error().message;
    server_ = std::make_unique<ObserverServer>(*std::move(made));
  }
  ObservedJob run(const std::vector<std::string>& command,
                  const std::string& aggregate = "{}") {
    auto job = run_job(command, server_.get(),
                       {.socket = path_, .aggregate = aggregate});
    EXPECT_EQ(job.status, 0) << job.output << job.errors;
    figures_.clear();
    for (const auto& event : job.events) {
      if (event.pid != job.pid) continue;
      if (const auto* figure = std::get_if<ObserverFigure>(&event.what)) {
        figures_[figure->name] = figure->value;
      }
    }
    return job;
  }
  std::uint64_t figure(const std::string& name) {
    EXPECT_TRUE(figures_.contains("aggregation." + name)) << name;
    return figures_["aggregation." + name];
  }
  std::string path_;
  std::unique_ptr<ObserverServer> server_;
  std::map<std::string, std::uint64_t> figures_;
};

// Its lines without the times.
std::string losses(const std::string& output) {
  std::istringstream in(output);
  std::string out, line;
  while (std::getline(in, line))
    out += line.substr(0, line.find(" sec")) + "\n";
  return out;
}

class AggregatedTraining : public AggregatedJob,
                           public testing::WithParamInterface<const char*> {};

TEST_P(AggregatedTraining, ChangesNoBitOfTheLosses) {
  const std::vector<std::string> command{kPython,  kWorkload,   GetParam(),
                                         "--size", "8",         "--steps",
                                         "8",      "--no-check"};
  const auto bare = run_job(command, nullptr, {.preload = false});
  ASSERT_EQ(bare.status, 0) << bare.errors;
  const auto job = run(command);
  EXPECT_EQ(job.errors, "");
  EXPECT_NE(bare.output.find("checksum"), std::string::npos);
  EXPECT_EQ(losses(bare.output), losses(job.output));
  EXPECT_EQ(figure("steps"), 8u) << "two optimizers are one iteration";
  EXPECT_GT(figure("placed"), 100u);
  EXPECT_EQ(figure("refused"), 0u);
  EXPECT_GE(figure("peak_reserved_bytes"), figure("peak_live_bytes"));
}

INSTANTIATE_TEST_SUITE_P(Jobs, AggregatedTraining,
                         testing::Values("mlp", "cnn", "transformer", "dlrm",
                                         "rnn"),
                         [](const auto& job) {
                           return std::string(job.param);
                         });

TEST_F(AggregatedJob, MayDoWithItsMemoryWhatItLikes) {
  for (const char* const what : {"views", "threads", "fork"}) {
    const auto job = run({kPython, "tests/tracer/aggregated_job.py", what});
    EXPECT_EQ(job.errors, "") << what;
    EXPECT_EQ(job.output, "all right\n") << what;
    EXPECT_GT(figure("placed"), 100u) << what;
  }
}

TEST_F(AggregatedJob, MayDoSoWithEveryPartOfTheAllocatorAtItsLimit) {
  for (const char* const options :
       {R"({"keep_bytes": 0, "overhead": 1})", R"({"huge_pages": true})",
        R"({"repeat": 0, "recheck": 1, "heat_parts": 16,
            "distance_parts": 8})"}) {
    const auto job =
        run({kPython, "tests/tracer/aggregated_job.py", "views"}, options);
    EXPECT_EQ(job.errors, "") << options;
    EXPECT_EQ(job.output, "all right\n") << options;
  }
}

TEST_F(AggregatedJob, IsSeenAsBefore) {
  const auto bare = run_job({kPython, "tests/tracer/tiny_job.py", "train"},
                            nullptr, {.preload = false});
  const auto job = run({kPython, "tests/tracer/tiny_job.py", "train"});
  EXPECT_EQ(job.output, bare.output);
  std::map<ObjectId, Tensor> alive;
  std::size_t born = 0, operators = 0;
  for (const auto& event : job.events) {
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      ++born;
      for (const auto& [serial, other] : alive) {
        EXPECT_TRUE(tensor->address + tensor->bytes <= other.address ||
                    other.address + other.bytes <= tensor->address);
      }
      alive.emplace(tensor->serial, *tensor);
    } else if (const auto* died = std::get_if<TensorDied>(&event.what)) {
      EXPECT_EQ(alive.erase(died->serial), 1u);
    }
    operators += std::holds_alternative<Operator>(event.what);
  }
  EXPECT_EQ(born, figure("foreseen") + figure("unforeseen"));
  EXPECT_GT(operators, 100u);
}

TEST_F(AggregatedJob, AProfilePlacesTheNextRunFromTheStart) {
  const auto profile = scratch_path("profile");
  const std::string options = R"({"profile": ")" + profile + "\"}";
  const std::vector<std::string> command{kPython, "tests/tracer/tiny_job.py",
                                         "train"};
  const auto first = run(command, options);
  const auto placed = figure("placed"),
             all = figure("foreseen") + figure("unforeseen");
  EXPECT_LT(placed, all * 3 / 4);
  const auto second = run(command, options);
  EXPECT_GT(figure("placed"), all * 9 / 10);
  EXPECT_EQ(first.output, second.output);
  EXPECT_EQ(first.errors + second.errors, "");
  unlink(profile.c_str());
}

TEST_F(AggregatedJob, RunsOnWithoutWhereItCannotBe) {
  const std::vector<std::string> command{kPython, "tests/tracer/tiny_job.py",
                                         "train"};
  const auto bare = run_job(command, nullptr, {.preload = false});
  for (const char* const nonsense :
       {"nonsense", "[]", R"({"heat_parts": 99})", R"({"no_such": 1})",
        R"({"profile": "/tmp"})"}) {
    const auto job = run(command, nonsense);
    EXPECT_EQ(job.output, bare.output);
    EXPECT_EQ(std::count(job.errors.begin(), job.errors.end(), '\n'), 1);
    EXPECT_NE(job.errors.find("not aggregated"), std::string::npos)
        << job.errors;
    EXPECT_TRUE(figures_.empty());
  }
}

TEST_F(AggregatedJob, IsOnlyByAsking) {
  run({kPython, "tests/tracer/tiny_job.py", "train"}, "");
  EXPECT_TRUE(figures_.empty());
}

}  // namespace
}  // namespace thermocline
