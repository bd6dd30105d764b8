// Machine and Tier: the memory of a computer, as data.
//
// Nothing is written for exactly two tiers. A Machine is a JSON file, measured
// by `thermocline probe`, read from the kernel, or shipped with the emulated
// machine. Thread safety: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

// How a figure of a tier was obtained.
enum class Obtained : std::uint8_t {
  kUnsaid,    // somebody wrote it into a file
  kMeasured,  // by `thermocline probe`
  kHmat,      // declared by the firmware
  kAssumed,   // from another figure
};

struct Origin {
  Obtained obtained = Obtained::kUnsaid;
  // Of repeated measurements: half of what lies between the least and the
  // most, over their median. 0: not known.
  double spread = 0;
  std::string how;  // for people: "pointer chase, 1 thread, 128.0 MiB"
  bool operator==(const Origin&) const = default;
};

struct Origins {
  Origin read_ns, write_ns, read_bytes_per_s, write_bytes_per_s;
  bool operator==(const Origins&) const = default;
};

// Figures that are 0 are not known; nobody may take them for numbers.
struct Tier {
  std::string name;        // "dram", "cxl", "optane"
  std::vector<int> nodes;  // NUMA nodes, in order of preference
  Bytes capacity = 0;      // bytes of all its nodes
  double read_ns = 0;      // latency of a load from idle memory
  double write_ns = 0;
  double read_bytes_per_s = 0;  // bandwidth that one job can draw
  double write_bytes_per_s = 0;
  bool durable = false;
  Origins origins = {};
  bool operator==(const Tier&) const = default;
};

// One of a tier's four figures, for code that treats them alike.
struct Figure {
  const char* name;
  double Tier::*value;
  Origin Origins::*origin;
  bool latency;      // less is faster
  const char* hmat;  // the kernel's file for it
};

inline constexpr std::array<Figure, 4> kFigures{{
    {"read_ns", &Tier::read_ns, &Origins::read_ns, true, "read_latency"},
    {"write_ns", &Tier::write_ns, &Origins::write_ns, true, "write_latency"},
    {"read_bytes_per_s", &Tier::read_bytes_per_s, &Origins::read_bytes_per_s,
     false, "read_bandwidth"},
    {"write_bytes_per_s", &Tier::write_bytes_per_s, &Origins::write_bytes_per_s,
     false, "write_bandwidth"},
}};

/// "unsaid", "measured", "hmat", "assumed": as in files.
const char* word_of(Obtained obtained);

struct Machine {
  std::string name;
  std::vector<Tier> tiers;  // fastest first; at least one
  int cpus = 1;
  double cycles_per_ns = 1;
  bool emulated = false;

  /// Strict: unknown keys, no tiers, a node named twice, or tiers whose
  /// figures contradict their order (tier_order.h) are kInvalid.
  static Result<Machine> from_json(const std::string& text);
  static Result<Machine> load(const std::string& path);
  std::string to_json() const;

  /// What the kernel says: nodes with memory, grouped by
  /// sys/devices/virtual/memory_tiering, else by whether they have CPUs and
  /// by distance; latency and bandwidth from HMAT (access1, else access0)
  /// where present, else 0 (not known).
  /// `root` stands for "/" (a recorded tree in tests).
  static Result<Machine> from_kernel(const std::string& root);

  /// The tier of a NUMA node, or kNoTier.
  TierId tier_of_node(int node) const;
  /// The tier of that name, or kNoTier.
  TierId find(const std::string& name) const;
  bool operator==(const Machine&) const = default;
};

}  // namespace thermocline
