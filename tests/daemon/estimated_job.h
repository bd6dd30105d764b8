// Estimate: `thermocline estimate` on a job whose times are known.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/daemon/commands.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {

// Two phases: the first is all object 0 (300 ms slow, 100 ms fast), the second
// all object 3 (500 and 100). Objects 1 and 2 are never touched.
class Estimate : public Commands {
 protected:
  Estimate() {
    job_.objects = 4;
    job_.marks = true;
    job_.phases = {{1000000, {{0, 2000, 0}}}, {2000000, {{3, 6000, 0}}}};
    job_.machine.tiers[0].read_ns = job_.machine.tiers[0].write_ns = 80;
    job_.machine.tiers[1].read_ns = job_.machine.tiers[1].write_ns = 300;
  }
  Trace slow() const { return job_.run("all_slow", {300000000, 500000000}); }
  Trace fast() const { return job_.run("all_fast", {100000000, 100000000}); }
  std::string write(const std::string& name, const Trace& trace) const {
    EXPECT_TRUE(write_trace(scratch / name, trace, true).has_value());
    return scratch / name;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch / name) << text;
    return scratch / name;
  }
  Words of_pair(const Words& rest) const {
    Words words{"estimate", "--slow", write("slow.trace", slow()), "--fast",
                write("fast.trace", fast())};
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }
  Words placed(const std::string& text) const {
    return of_pair({"--placement", write("p.json", text)});
  }
  nlohmann::json answer(Words words) const {
    words.push_back("--json");
    const auto ran = run(words);
    EXPECT_EQ(ran.status, 0) << ran.output;
    return nlohmann::json::parse(ran.output, nullptr, false);
  }
  static std::string name_of(ObjectId object) {
    char text[48];
    std::snprintf(
        text, sizeof text, "0x%llx-0x%llx",
        static_cast<unsigned long long>(SyntheticJob::address(object)),
        static_cast<unsigned long long>(SyntheticJob::address(object + 1)));
    return text;
  }

  SyntheticJob job_;
};

}  // namespace thermocline
