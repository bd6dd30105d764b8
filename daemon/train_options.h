// The options of `thermocline train`: for the program that trains, which links
// LibTorch, and for the completion of shells, which must not.
#pragma once

#include "daemon/train_settings.h"

namespace CLI {
class App;
}

namespace thermocline {

/// Adds them to a command line; `settings` must outlive it.
void add_train_options(CLI::App& app, TrainSettings& settings);

}  // namespace thermocline
