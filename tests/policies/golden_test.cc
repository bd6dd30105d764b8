// Every policy's decisions on a few small jobs, as text that can be read in a
// review, under tests/golden/policies/. UPDATE_GOLDEN=1 writes them anew; a
// policy without a transcript fails. `signature` is one number over all
// decisions: a change that is meant to change none leaves it as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "policies/bounds.h"
#include "policies/replay.h"
#include "tests/policies/tensor_jobs.h"
#include "traces/crc32c.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr double kShare = 0.4;  // of the peak, in fast memory

std::string golden(const std::string& name) {
  return "tests/golden/policies/" + name;
}

bool updating() { return std::getenv("UPDATE_GOLDEN") != nullptr; }

Trace read(const std::string& path) {
  auto out = read_trace(path);
  EXPECT_TRUE(out) << out.error().message;
  return out ? std::move(out->trace) : Trace();
}

// small: the sample trace. chain: made up, with lifetimes that wrap. linear: a
// step of a real multilayer perceptron, which knows no times.
std::map<std::string, Iteration> jobs() {
  std::map<std::string, Iteration> out;
  const auto add = [&](const std::string& name, const Trace& trace) {
    auto made = Iteration::from_trace(trace, two_tiers());
    EXPECT_TRUE(made) << name << ": " << made.error().message;
    if (made) out.emplace(name, *std::move(made));
  };
  add("small", read("traces/samples/small.trace"));
  add("chain", ChainJob().trace());
  add("linear", read(golden("linear.trace")));
  return out;
}

std::string micros(double ns) {
  char text[64];
  std::snprintf(text, sizeof text, "%.5g us", ns / 1e3);
  return text;
}

// What was decided, as bytes; no times, which other compilers round otherwise.
std::uint32_t signature_of(const Replayed& out) {
  std::ostringstream text;
  for (const TierId tier : out.births) text << int{tier} << ' ';
  for (const Moved& move : out.moves) {
    text << move.step << ' ' << move.begun << ' ' << move.in_force << ' '
         << move.tensor << ' ' << int{move.to} << ';';
  }
  const std::string bytes = text.str();
  return crc32c(
      {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string describe(const Iteration& step, std::uint32_t t) {
  const auto& tensor = step.tensor(t);
  std::string life = tensor.persistent
                         ? "persistent"
                         : std::to_string(tensor.born) + " to " +
                               std::to_string(tensor.dies) +
                               (tensor.wraps ? " of the next step" : "");
  return "tensor " + std::to_string(t) + " (" + std::to_string(tensor.bytes) +
         " bytes, " + life + ")";
}

std::string transcript(const std::string& policy, const std::string& job,
                       const Iteration& step, const Room& room,
                       const Replayed& out) {
  std::ostringstream text;
  text << policy << " on " << job << ": " << step.operators() << " operators, "
       << step.tensors() << " tensors, " << room.capacity[0] << " of "
       << step.peak_bytes() << " bytes fast\n"
       << "all fast " << micros(step.all_fast_ns()) << ", all slow "
       << micros(step.all_slow_ns()) << ", bound "
       << micros(free_moves_bound_ns(step, room.capacity[0])) << "\n"
       << (out.planned ? "planned" : "online") << ", steps take";
  for (const double ns : out.steps_ns) text << ' ' << micros(ns);
  text << "\nmoved in a step " << std::llround(out.steady_copied())
       << " bytes, waited in all " << micros(out.waited_ns) << ", "
       << out.unplaced.size() << " found no hole\n";
  if (!out.note.empty()) text << "note: " << out.note << "\n";
  for (std::size_t tier = 0; tier < room.capacity.size(); ++tier) {
    text << "born in tier " << tier << ":";
    for (std::size_t t = 0; t < out.births.size(); ++t) {
      if (out.births[t] == tier) text << ' ' << t;
    }
    text << "\n";
  }
  text << "moves:\n";
  for (const Moved& move : out.moves) {
    text << "  step " << move.step << ", " << move.begun << " to "
         << move.in_force << ": " << describe(step, move.tensor)
         << " from tier " << int{move.from} << " to " << int{move.to} << "\n";
  }
  text << "signature " << signature_of(out) << "\n";
  return text.str();
}

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

void compare(const std::string& path, const std::string& now) {
  if (updating()) {
    std::ofstream(path) << now;
    return;
  }
  EXPECT_EQ(contents(path), now)
      << path << " differs; if that is meant, UPDATE_GOLDEN=1 writes it anew";
}

TEST(Golden, EveryPolicyDecidesAsItsTranscriptSays) {
  const auto all = jobs();
  std::uint32_t signature = 0;
  for (const auto& [name, unused] : Registry<Policy>::entries()) {
    if (name == "external") continue;  // a program decides
    for (const auto& [job, step] : all) {
      const auto policy =
          Registry<Policy>::make("policy", name, nlohmann::json::object());
      ASSERT_TRUE(policy) << policy.error().message;
      Room room;
      room.capacity = {
          static_cast<Bytes>(static_cast<double>(step.peak_bytes()) * kShare),
          4 * step.peak_bytes()};
      const auto out = replay(step, room, **policy, {.steps = 4});
      ASSERT_TRUE(out) << name << " on " << job << ": " << out.error().message;
      compare(golden(name + "." + job + ".txt"),
              transcript(name, job, step, room, *out));
      signature = signature * 31 + signature_of(*out);
    }
  }
  compare(golden("signature"), std::to_string(signature) + "\n");
}

}  // namespace
}  // namespace thermocline
