// Settings: the command line of thermocline-train, as it was given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thermocline {

struct TrainSettings {
  std::string show;  // an agent file to describe; nothing is trained then
  std::string out;
  std::uint64_t seed = 1;
  std::int64_t episodes = 0;       // 0: the option's default
  std::int64_t patience = -1;      // -1: the option's default
  double time_limit_s = 0;         // 0: none
  double checkpoint_every_s = 20;  // and when it stops
  bool resume = false;
  bool force = false;  // replace an existing agent
  bool json = false;
  bool quiet = false;
  std::vector<std::string> metrics;   // files
  std::vector<std::string> machines;  // files
  std::vector<std::string> options;
  std::vector<std::string> traces;

  int workers = 1;
  std::string rendezvous;  // HOST:PORT; file:PATH among those of one machine
  int rank = -1;           // -1: the first, which starts the others here

  std::string checkpoint() const { return out + ".checkpoint"; }
  bool leads() const { return rank <= 0; }
};

}  // namespace thermocline
