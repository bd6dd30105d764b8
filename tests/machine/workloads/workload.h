// Workload: one small, real program whose memory the machine is tried on.
//
// Each is one .cc file with a class in an anonymous namespace and one line
//
//   const RegisterWorkload kEntry{"name", {"summary", "hot", changes, make}};
//
// All their memory comes from the ordinary allocator and is touched first by
// the kernel itself: nothing in them knows about nodes or tiers, since that is
// what is being tried. They use no function of libm but sqrt and no generator
// of the standard library, so that a checksum is the same on every x86-64.
//
// Thread safety: an object belongs to one thread; two objects share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct WorkloadSettings {
  std::size_t bytes = std::size_t{128} << 20;  // of memory, about
  std::uint64_t seed = 1;
};

// One large array of a workload: what a placement can name.
struct Array {
  std::string name;
  const void* data = nullptr;
  std::size_t bytes = 0;
};

template <typename Element>
Array array_of(const std::string& name, const std::vector<Element>& elements) {
  return {name, elements.data(), elements.size() * sizeof(Element)};
}

class Workload {
 public:
  virtual ~Workload() = default;

  /// Allocates and fills all memory. Called once, first.
  virtual void prepare() = 0;

  /// Its large arrays, nearly all of its memory. Called once prepared; steps
  /// may swap their roles, but neither free nor add any.
  virtual std::vector<Array> arrays() const = 0;

  /// Does step `index`; steps come in order, from zero, without gaps.
  /// Returns a digest of what it computed: the same seed gives the same one.
  virtual std::uint64_t step(std::uint64_t index) = 0;

  /// Compares the result with something that does not depend on how it was
  /// computed. Called once, last; may use up the result. Error: it is wrong,
  /// in one line.
  virtual Status check() = 0;

  /// Spoils the result in one place, so that a test sees check() notice.
  virtual void spoil() = 0;
};

struct WorkloadKind {
  std::string summary;   // what program it is, one sentence
  std::string hot;       // what is hot, and how that changes
  bool changes = false;  // whether the hot data is elsewhere after some steps
  std::function<std::unique_ptr<Workload>(const WorkloadSettings&)> make;
};

/// All that are linked in, by name.
std::map<std::string, WorkloadKind>& workloads();

struct RegisterWorkload {
  RegisterWorkload(const std::string& name, WorkloadKind kind) {
    CHECK(workloads().emplace(name, std::move(kind)).second);
  }
};

/// The usual WorkloadKind::make.
template <typename Class>
std::unique_ptr<Workload> make_workload(const WorkloadSettings& settings) {
  return std::make_unique<Class>(settings);
}

}  // namespace thermocline
