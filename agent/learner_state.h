// What every learner's checkpoint holds besides its networks and its memory:
// optimizer, generator, note. Includes torch: from .cc files only.
#pragma once

#include <random>
#include <sstream>
#include <string>

#include "traces/libtorch.h"

namespace thermocline {

inline void put_state(torch::serialize::OutputArchive& archive,
                      const torch::optim::Adam& adam,
                      const std::mt19937_64& rng, const std::string& note) {
  torch::serialize::OutputArchive optimizer;
  adam.save(optimizer);
  archive.write("adam", optimizer);
  std::ostringstream generator;
  generator << rng;
  archive.write("generator", c10::IValue(generator.str()));
  archive.write("note", c10::IValue(note));
}

/// Returns the note. Throws what LibTorch throws.
inline std::string take_state(torch::serialize::InputArchive& archive,
                              torch::optim::Adam& adam, std::mt19937_64& rng) {
  torch::serialize::InputArchive optimizer;
  archive.read("adam", optimizer);
  adam.load(optimizer);
  c10::IValue value;
  archive.read("generator", value);
  std::istringstream(value.toStringRef()) >> rng;
  archive.read("note", value);
  return value.toStringRef();
}

}  // namespace thermocline
