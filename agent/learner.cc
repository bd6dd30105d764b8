#include "agent/learner.h"

#include "agent/archive.h"
#include "agent/archive_kind.h"
#include "agent/dqn.h"
#include "agent/ppo.h"
#include "traces/libtorch.h"

namespace thermocline {

std::unique_ptr<Learner> make_learner(const TrainingOptions& options,
                                      std::uint64_t seed) {
  CHECK(options.valid());
  if (options.algorithm == "ppo") return std::make_unique<Ppo>(options, seed);
  return std::make_unique<Dqn>(options, seed);
}

Result<std::string> read_learner_note(const std::string& path) {
  std::string note;
  auto read = read_archive(path, kCheckpointKind, [&](auto& archive) {
    c10::IValue value;
    archive.read("note", value);
    note = value.toStringRef();
  });
  if (!read) return read.error();
  return note;
}

}  // namespace thermocline
