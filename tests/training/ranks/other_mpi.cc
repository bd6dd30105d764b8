// Preloaded, makes a program believe that it was started with another Open MPI
// than it was built with.
#include <mpi.h>

#include <cstring>

extern "C" int MPI_Get_library_version(char* version, int* length) {
  constexpr char kOther[] = "Open MPI v3.1.6, package: another one";
  std::memcpy(version, kOther, sizeof kOther);
  *length = static_cast<int>(sizeof kOther - 1);
  return MPI_SUCCESS;
}
