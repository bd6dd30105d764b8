// Weighed: a view whose accesses count by what the core waited for them.
//
// A load that was fetched ahead costs next to nothing, one of a chase all that
// memory takes, and counts say the same of both. Where the processor tells what
// the core waited (ObjectView::waited), each object's accesses are weighed by
// it: by how much more or less than the machine's model they wait than all
// accesses of the job do. Sums over all objects stay about what they were, so
// what was learned by counts holds.
//
// A window has few samples of an object, and the waits of a few say little. So
// waits are remembered, those in slow memory for as long as others take their
// place, for what an access loses there is asked for; those in fast memory
// count for fewer, and for as many times as much as all of the job's are longer
// in slow memory than the model says of it (one to four): what is fetched ahead
// in time there is not here. To begin with, an object is taken to be like its
// neighbours (kNear on either side), and these to be like all.
//
// Where nobody tells, the view is as given, and after a hundred windows it is
// not looked at any more.
//
// Thread safety: none. Determinism: the same views give the same bits. Cost:
// O(objects) a window.
#pragma once

#include <vector>

#include "estimator/view.h"

namespace thermocline {

class Weighed {
 public:
  /// Takes in a window. What it returns borrows from this and from the view,
  /// until the next call.
  View see(const View& view);

 private:
  // Cycles waited, and the time that accesses take by the model, ns.
  struct Evidence {
    double waited = 0;
    double modelled = 0;
    void add(double cycles, double ns, double most);
  };
  // Of an object, its accesses in fast memory taken as longer_ says.
  Evidence of(std::size_t i) const {
    return {slow_[i].waited + longer_ * fast_[i].waited,
            slow_[i].modelled + fast_[i].modelled};
  }
  void listen(const View& view);
  void take_in(const View& view);
  void weigh(std::vector<ObjectView>& objects) const;

  std::vector<Evidence> slow_;  // by object
  std::vector<Evidence> fast_;
  std::vector<Evidence> sums_;  // of all objects before
  Evidence all_[2];             // in fast memory, in slow
  // Times as much as the model says is waited in slow memory beside fast: what
  // a prefetch hides there it may not hide here.
  double longer_ = 1;
  double sample_ns_ = 0;  // the least that an object was seen to take
  bool told_ = false;
  int silent_ = 0;  // windows with accesses, of which nobody told
  std::vector<ObjectView> objects_;
};

}  // namespace thermocline
