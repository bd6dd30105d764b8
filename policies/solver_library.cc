#include "policies/solver.h"

extern "C" __attribute__((visibility("default"))) const thermocline::Solver*
thermocline_solver() {
  static const thermocline::Solver solver = {&thermocline::relax_by_clp,
                                             &thermocline::branch_by_cbc};
  return &solver;
}
