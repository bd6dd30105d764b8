// restore_for_all: a checkpoint that rank 0 has, on every rank.
//
// The pool of a data-parallel job lies on one host; ranks elsewhere get the
// state through a window. What is saved must not depend on the number of ranks
// (parameters, optimizer, step; of tables the whole()): the next run may have
// another one.
//
// Thread safety: collective. Ownership: what is returned owns its bytes.
#pragma once

#include <optional>

#include "training/elastic/packed_checkpoint.h"
#include "training/ranks/ranks.h"

namespace thermocline {

/// Rank 0's newest whole checkpoint; nothing when nothing was saved yet. What
/// was damaged is told on rank 0. `pool`: of rank 0; ignored on others.
/// Errors: on every rank when rank 0 has one, there with the cause; kCorrupt
/// when it came damaged.
Result<std::optional<SharedCheckpoint>> restore_for_all(Ranks& ranks,
                                                        CheckpointPool* pool);

}  // namespace thermocline
