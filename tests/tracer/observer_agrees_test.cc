// An independent check of the tensor observer: PyTorch's own observer
// (ExecutionGraphObserver) watches the same run, and both must tell of the same
// operators, the same tensors and the same peak.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/tracer/import_bytes.h"
#include "tests/tracer/observed_job.h"
#include "traces/summary.h"

namespace thermocline {
namespace {

using Serials = std::set<ObjectId>;

Serials touched(const Operator& op) {
  Serials all(op.reads.begin(), op.reads.end());
  all.insert(op.writes.begin(), op.writes.end());
  return all;
}

std::multiset<Bytes> bytes_of(const Trace& trace, const Serials& serials) {
  std::multiset<Bytes> all;
  for (const auto& tensor : trace.tensors) {
    if (serials.contains(tensor.serial)) all.insert(tensor.bytes);
  }
  return all;
}

// The same run, seen twice.
class ObserverAgrees : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto path = scratch_path("agrees"), graph = scratch_path("graph");
    auto server = ObserverServer::listen(path);
    ASSERT_TRUE(server) << server.error().message;
    const auto job = run_job(
        {"/usr/bin/python3", "tests/tracer/tiny_job.py", "graph", graph},
        &*server, {.socket = path});
    ASSERT_EQ(job.status, 0) << job.errors;
    auto imported = import_file(
        graph,
        as_format("execution-trace", R"({"device": "cpu", "refined": true})"));
    unlink(graph.c_str());
    ASSERT_TRUE(imported) << imported.error().message;
    theirs_ = new Trace(std::move(imported->trace));
    ours_ = new Trace;
    Nanos began = 0;
    std::map<ObjectId, std::size_t> place;
    for (const auto& event : job.events) {
      if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
        place[tensor->serial] = ours_->tensors.size();
        ours_->tensors.push_back(*tensor);
      } else if (const auto* died = std::get_if<TensorDied>(&event.what)) {
        ours_->tensors[place.at(died->serial)].died = died->time;
      } else if (const auto* op = std::get_if<Operator>(&event.what)) {
        ours_->operators.push_back(*op);
        if (op->name != "aten::digamma_") continue;
        ours_->operators.clear();  // their observer begins now
        began = op->end;
      }
    }
    live_as_theirs(began);
  }
  // Theirs sees no tensor freed: one dies after its last use, except that what
  // was there before lives on; and what is never used is not seen.
  static void live_as_theirs(Nanos began) {
    std::map<ObjectId, Nanos> last_use;
    for (const auto& op : ours_->operators) {
      for (const auto serial : touched(op)) last_use[serial] = op.end;
    }
    std::erase_if(ours_->tensors, [&](const Tensor& tensor) {
      return tensor.born <= began && !last_use.contains(tensor.serial);
    });
    for (auto& tensor : ours_->tensors) {
      if (tensor.born <= began) {
        tensor.died = -1;
      } else if (const auto at = last_use.find(tensor.serial);
                 at != last_use.end()) {
        tensor.died = at->second;
      }
    }
  }
  static void TearDownTestSuite() {
    delete ours_;
    delete theirs_;
  }
  static Trace* ours_;
  static Trace* theirs_;
};

Trace* ObserverAgrees::ours_ = nullptr;
Trace* ObserverAgrees::theirs_ = nullptr;

// Theirs tells of views, and of what only makes room.
bool touches_nothing(const Operator& op) {
  return op.writes.empty() || op.name == "aten::detach_" ||
         op.name.rfind("aten::empty", 0) == 0;
}

// Theirs knows a tensor by its address. A number in an expression becomes a
// tensor that no operator makes; where its memory was another's before, theirs
// takes it for the other, which is larger. How often depends on the heap.
bool differ_by_a_number(std::multiset<Bytes> ours,
                        std::multiset<Bytes> theirs) {
  for (const Bytes bytes : std::multiset(ours)) {
    const auto at = theirs.find(bytes);
    if (at == theirs.end()) continue;
    theirs.erase(at);
    ours.erase(ours.find(bytes));
  }
  return ours.size() <= 1 && theirs.size() == ours.size() &&
         (ours.empty() || (*ours.begin() <= 8 && *theirs.begin() > 4));
}

TEST_F(ObserverAgrees, OnOperatorsAndTensors) {
  auto mine = ours_->operators.begin();
  std::size_t both = 0, alike = 0;
  for (const auto& op : theirs_->operators) {
    if (mine == ours_->operators.end() || mine->name != op.name) {
      EXPECT_TRUE(touches_nothing(op)) << op.name << " was not seen";
      continue;
    }
    EXPECT_EQ(mine->phase, op.phase) << op.name;
    EXPECT_EQ(mine->writes.size(), op.writes.size()) << op.name;
    const auto ours = bytes_of(*ours_, touched(*mine));
    const auto theirs = bytes_of(*theirs_, touched(op));
    EXPECT_TRUE(differ_by_a_number(ours, theirs))
        << op.name << testing::PrintToString(ours)
        << testing::PrintToString(theirs);
    ++both;
    alike += ours == theirs;
    ++mine;
  }
  EXPECT_EQ(mine, ours_->operators.end()) << "not theirs: " << mine->name;
  EXPECT_GT(both, 100u);
  EXPECT_GT(alike, both * 9 / 10);
  RecordProperty("operators", static_cast<int>(both));
  RecordProperty("alike", static_cast<int>(alike));
}

TEST_F(ObserverAgrees, OnTheBytesAliveAtThePeak) {
  const auto ours = peak_live_bytes(*ours_), theirs = peak_live_bytes(*theirs_);
  // What lands at a dead tensor's address lengthens its life in theirs, now and
  // then a large one's: of 26 runs 18 agreed to 1 %, the worst was 15 % above.
  EXPECT_GT(static_cast<double>(theirs), static_cast<double>(ours) * 0.99);
  EXPECT_LT(static_cast<double>(theirs), static_cast<double>(ours) * 1.25);
  // These have mappings of their own, which no number is ever put into.
  const auto large = [](const Trace& trace) {
    std::multiset<Bytes> sizes;
    for (const auto& one : trace.tensors) {
      if (one.bytes >= 32768) sizes.insert(one.bytes);
    }
    return sizes;
  };
  EXPECT_GT(large(*ours_).size(), 20u);
  EXPECT_EQ(large(*ours_), large(*theirs_));
  RecordProperty("our_peak", std::to_string(ours));
  RecordProperty("their_peak", std::to_string(theirs));
}

}  // namespace
}  // namespace thermocline
