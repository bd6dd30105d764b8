// run_training: from settings to an agent file.
#pragma once

#include "daemon/train_report.h"
#include "daemon/train_settings.h"

namespace thermocline {

/// Trains, reports, and returns the exit status: 0 when an agent was written
/// and nothing was amiss, 128 + the signal that stopped it, else 1 after one
/// line on standard error. argc and argv are those of the program, for other
/// workers to start with.
int run_training(const TrainSettings& settings, int argc, char** argv);

}  // namespace thermocline
