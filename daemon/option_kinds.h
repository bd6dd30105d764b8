// What the options of all commands take, in their --help: the same name, the
// same kind of value.
#pragma once

namespace CLI {
class App;
}

namespace thermocline {

/// Names the kind of each option's value whose command says no more than that
/// it is text; in the commands below it, too.
void name_kinds(CLI::App& app);

}  // namespace thermocline
