// The commands of `thermocline`: one file cmd_NAME.cc each.
//
// Every function adds one subcommand to the command line. Its callback does
// the work, prints the result on standard output, and on failure leaves one
// line in the Outcome that names the thing and the remedy.
#pragma once

#include <string>

#include "traces/result.h"

namespace CLI {
class App;
}

namespace thermocline {

struct Outcome {
  int status = 0;     // exit status of the program
  std::string error;  // one line for standard error; empty: all is well

  void fail(const Error& why, int with_status = 1) {
    error = why.message;
    status = with_status;
  }
};

void add_record(CLI::App& root, Outcome& outcome);
void add_train(CLI::App& root, Outcome& outcome);
void add_run(CLI::App& root, Outcome& outcome);
void add_attach(CLI::App& root, Outcome& outcome);
void add_control(CLI::App& root, Outcome& outcome);  // detach, policy, ...
void add_query(CLI::App& root, Outcome& outcome);
void add_top(CLI::App& root, Outcome& outcome);
void add_watch(CLI::App& root, Outcome& outcome);
void add_keygen(CLI::App& root, Outcome& outcome);
void add_estimate(CLI::App& root, Outcome& outcome);
void add_evaluate(CLI::App& root, Outcome& outcome);
void add_tune(CLI::App& root, Outcome& outcome);
void add_report(CLI::App& root, Outcome& outcome);
void add_info(CLI::App& root, Outcome& outcome);
void add_export(CLI::App& root, Outcome& outcome);
void add_import(CLI::App& root, Outcome& outcome);
void add_thin(CLI::App& root, Outcome& outcome);
void add_list(CLI::App& root, Outcome& outcome);
void add_doctor(CLI::App& root, Outcome& outcome);
void add_probe(CLI::App& root, Outcome& outcome);
void add_checkpoint(CLI::App& root, Outcome& outcome);
void add_job(CLI::App& root, Outcome& outcome);  // run, join, leave, ...
void add_completion(CLI::App& root, Outcome& outcome);

}  // namespace thermocline
