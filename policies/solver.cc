#include "policies/solver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <string>

namespace thermocline {
namespace {

Result<const Solver*> load() {
  // OpenBLAS reads this when it is loaded; its idle threads would spin.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  // Found by the program's own search path. Never unloaded.
  void* const library =
      ::dlopen("thermocline_solver.so", RTLD_NOW | RTLD_LOCAL);
  void* const symbol =
      library == nullptr ? nullptr : ::dlsym(library, "thermocline_solver");
  if (symbol == nullptr) {
    return unsupported(std::string("integer programs need their solver: ") +
                       ::dlerror());
  }
  return reinterpret_cast<decltype(&thermocline_solver)>(symbol)();
}

}  // namespace

Result<const Solver*> load_solver() {
  static const Result<const Solver*> loaded = load();
  return loaded;
}

}  // namespace thermocline
