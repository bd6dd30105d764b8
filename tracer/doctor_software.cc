// LibTorch, found by its files: this program never links it.
#include "tracer/doctor_parts.h"

namespace thermocline {
namespace {

using State = Finding::State;

// Folders that may hold a shared library, in the loader's order, about.
std::vector<std::string> library_folders(const Patient& patient) {
  std::vector<std::string> folders;
  for (const std::string base : {"/usr/local/lib", "/usr/lib", "/lib"}) {
    for (const auto& name : names_in(patient.root + base)) {
      if (name.find("-linux-gnu") != name.npos) {
        folders.push_back(base + "/" + name);
      }
    }
    folders.push_back(base);
  }
  folders.push_back("/usr/lib64");
  folders.push_back("/opt/libtorch/lib");
  return folders;
}

Finding libtorch(const Patient& patient) {
  const std::string library = "libtorch_cpu.so";
  for (const auto& folder : library_folders(patient)) {
    std::string longest;  // libtorch_cpu.so.1.13 tells more than .so
    for (const auto& name : names_in(patient.root + folder)) {
      if (name.rfind(library, 0) == 0 && name.size() > longest.size()) {
        longest = name;
      }
    }
    if (!longest.empty()) return good("LibTorch", folder + "/" + longest);
  }
  return lacking(State::kMissing, "LibTorch", "no " + library,
                 "no training of agents, no learned policy; all else works",
                 "apt-get install libtorch-dev");
}

Finding python_torch(const Patient& patient) {
  for (const std::string base : {"/usr/local/lib", "/usr/lib"}) {
    for (const auto& python : names_in(patient.root + base)) {
      if (python.rfind("python3", 0) != 0) continue;
      for (const std::string packages : {"dist-packages", "site-packages"}) {
        const auto path = base + "/" + python + "/" + packages + "/torch";
        if (is_there(patient.root + path + "/__init__.py")) {
          return good("PyTorch", path);
        }
      }
    }
  }
  return lacking(State::kPart, "PyTorch", "not among the system's packages",
                 "Python jobs need one of their own (a virtual environment)",
                 "apt-get install python3-torch");
}

}  // namespace

std::vector<Finding> examine_software(const Patient& patient) {
  return {libtorch(patient), python_torch(patient)};
}

}  // namespace thermocline
