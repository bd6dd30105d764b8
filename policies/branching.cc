#include "policies/branching.h"

#include <algorithm>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicDiveCoefficient.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglPreProcess.hpp>
#include <coin/CglProbing.hpp>
#include <coin/CglTwomir.hpp>
#include <coin/CglZeroHalf.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>
#include <iterator>
#include <limits>

namespace thermocline {
namespace {

// Columns, at most, that are probed before the search: of more, that alone may
// take longer than there is (and cut short it leaves a state that crashes).
constexpr std::size_t kPrepared = 2000;

class Asker final : public CbcEventHandler {
 public:
  explicit Asker(const std::function<bool()>& go_on) : go_on_(&go_on) {}
  CbcAction event(CbcEvent) override { return (*go_on_)() ? noAction : stop; }
  CbcEventHandler* clone() const override { return new Asker(*this); }

 private:
  const std::function<bool()>* go_on_;
};

OsiClpSolverInterface load(const Mip& mip) {
  OsiClpSolverInterface out;
  out.messageHandler()->setLogLevel(0);
  out.getModelPtr()->setLogLevel(0);
  CoinPackedMatrix matrix(/*colordered=*/false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(mip.cost.size()));
  std::vector<double> least;
  std::vector<double> most;
  for (const Mip::Row& row : mip.rows) {
    matrix.appendRow(static_cast<int>(row.columns.size()), row.columns.data(),
                     row.factors.data());
    least.push_back(std::max(row.least, -COIN_DBL_MAX));
    most.push_back(std::min(row.most, COIN_DBL_MAX));
  }
  const std::vector<double> zero(mip.cost.size(), 0);
  const std::vector<double> one(mip.cost.size(), 1);
  out.loadProblem(matrix, zero.data(), one.data(), mip.cost.data(),
                  least.data(), most.data());
  for (int i = 0; i < out.getNumCols(); ++i) out.setInteger(i);
  return out;
}

CglProbing probing() {
  CglProbing out;
  out.setUsingObjective(1);
  out.setMaxPass(1);
  out.setMaxPassRoot(1);
  out.setMaxProbeRoot(500);
  out.setMaxLook(10);
  out.setMaxLookRoot(50);
  out.setRowCuts(3);
  return out;
}

// As the program cbc has them: at the root, and further down while they help.
void add_cuts(CbcModel& model) {
  CglProbing probe = probing();
  CglGomory gomory;
  gomory.setLimitAtRoot(1000);
  CglKnapsackCover cover;
  CglMixedIntegerRounding2 rounding;
  CglTwomir twomir;
  CglZeroHalf halves;
  CglCutGenerator* const all[] = {&probe,    &gomory, &cover,
                                  &rounding, &twomir, &halves};
  for (CglCutGenerator* one : all) model.addCutGenerator(one, -98);
}

// Without the feasibility pump: Clp aborts on what that hands it, now and then
// (a basis with a superbasic column, from CbcHeuristic::smallBranchAndBound).
void add_heuristics(CbcModel& model, double seconds) {
  CbcRounding rounding(model);
  model.addHeuristic(&rounding, "rounding");
  CbcHeuristicDiveCoefficient dive(model);
  dive.setWhen(3);
  dive.setMaxTime(seconds / 4);
  model.addHeuristic(&dive, "dive");
  CbcHeuristicRINS rins(model);
  rins.setFractionSmall(0.5);
  rins.setHowOften(100);
  model.addHeuristic(&rins, "rins");
}

}  // namespace

Branched branch_by_cbc(const Mip& mip, double cutoff, double gap,
                       double seconds, const std::function<bool()>& go_on) {
  Branched out;
  OsiClpSolverInterface solver = load(mip);
  CglPreProcess before;
  before.messageHandler()->setLogLevel(0);
  CglProbing probe = probing();
  before.addCutGenerator(&probe);
  const bool prepared = mip.cost.size() <= kPrepared;
  const OsiSolverInterface* small =
      prepared ? before.preProcess(solver, false, 5) : &solver;
  if (small == nullptr) {
    out.impossible = true;
    out.bound = cutoff;
    return out;
  }
  CbcModel model(*small);
  const Asker asker(go_on);
  model.passInEventHandler(&asker);
  model.setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(seconds);
  model.setAllowableGap(gap);
  if (std::isfinite(cutoff)) model.setCutoff(cutoff - mip.constant);
  add_cuts(model);
  add_heuristics(model, seconds);
  model.branchAndBound();
  // Else CBC's word for "no bound" may be the best answer.
  const bool rooted = model.status() == 0 || model.getNodeCount() > 0;
  out.bound = -std::numeric_limits<double>::infinity();
  if (rooted) {
    out.bound =
        std::min(cutoff, model.getBestPossibleObjValue() + mip.constant);
  }
  out.impossible = model.isProvenInfeasible();
  const double* best = model.bestSolution();
  if (best == nullptr) return out;
  if (prepared) {
    before.postProcess(*model.solver());
    best = solver.getColSolution();
  }
  std::transform(best, best + mip.cost.size(), std::back_inserter(out.values),
                 [](double value) { return value > 0.5 ? 1 : 0; });
  return out;
}

}  // namespace thermocline
