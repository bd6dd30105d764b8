// The command line, as a test of it from the outside runs it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/daemon/thermoclined_process.h"
#include "traces/trace_file.h"

namespace thermocline {

using Words = std::vector<std::string>;

struct Ran {
  int status = -1;
  std::string output;
};

class Commands : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(scratch / "two.json") << R"({"name": "two", "tiers": [
      {"name": "near", "nodes": [0], "capacity": 1073741824, "read_ns": 80,
       "write_ns": 80, "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10},
      {"name": "far", "nodes": [63], "capacity": 1073741824, "read_ns": 300,
       "write_ns": 300, "read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9}]})";
  }

  Ran run(Words words) const {
    words.insert(words.begin(), THERMOCLINE);
    Child child(words);
    Ran ran;
    ran.status = child.wait();
    ran.output = child.output();
    return ran;
  }
  // Without root's powers: what another user's process may not be asked.
  Ran run_unprivileged(Words words) const {
    words.insert(words.begin(), THERMOCLINE);
    if (::geteuid() == 0) {
      words.insert(words.begin(), {"/usr/bin/setpriv", "--bounding-set=-all",
                                   "--inh-caps=-all"});
    }
    Child child(words);
    Ran ran;
    ran.status = child.wait();
    ran.output = child.output();
    return ran;
  }
  // Refused: one line that names each of these; no file comes or goes.
  void expect_refused(const Words& words, const Words& naming,
                      int status = 1) const {
    const auto before = scratch.files();
    const auto ran = run(words);
    SCOPED_TRACE(testing::PrintToString(words));
    EXPECT_EQ(ran.status, status) << ran.output;
    EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1)
        << ran.output;
    for (const auto& name : naming) {
      EXPECT_NE(ran.output.find(name), std::string::npos) << ran.output;
    }
    EXPECT_EQ(scratch.files(), before);
  }
  // record, with what `rest` does not say itself.
  Words record(const std::string& output, const Words& rest) const {
    Words words{"record", "-q", "-o", output};
    const auto unsaid = [&](const char* option, const std::string& value) {
      if (std::find(rest.begin(), rest.end(), option) != rest.end()) return;
      words.insert(words.end(), {option, value});
    };
    unsaid("--source", "none");
    unsaid("--machine", scratch / "two.json");
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }
  Words beside(Words rest) const {  // run, with a daemon that moves nothing
    Words words{"run",       "--source",           "none",     "--mover", "dry",
                "--machine", scratch / "two.json", "--socket", socket()};
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }
  std::string socket() const { return scratch / "api.sock"; }
  std::string slurp(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string small_trace() const {
    auto path = scratch / "small.trace";
    Trace trace;
    trace.info.command = {"job"};
    Sample sample;
    sample.address = 0x1000;
    sample.period = 3;
    for (int i = 0; i < 1000; ++i) {
      sample.time = i;
      trace.samples.push_back(sample);
    }
    trace.end = {true, 0, 1000};
    EXPECT_TRUE(write_trace(path, trace, true).has_value());
    return path;
  }

  Scratch scratch;
};

}  // namespace thermocline
