// Machine and Tier: the memory of a computer, as data.
//
// Nothing is written for exactly two tiers. A Machine is a JSON file, measured
// by `thermocline probe`, read from the kernel, or shipped with the emulated
// machine. Thread safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

struct Tier {
  std::string name;        // "dram", "cxl", "optane"
  std::vector<int> nodes;  // NUMA nodes, in order of preference
  Bytes capacity = 0;      // bytes of all its nodes
  double read_ns = 0;      // latency of a load from idle memory
  double write_ns = 0;
  double read_bytes_per_s = 0;  // bandwidth that one job can draw
  double write_bytes_per_s = 0;
  bool durable = false;
  bool operator==(const Tier&) const = default;
};

struct Machine {
  std::string name;
  std::vector<Tier> tiers;  // fastest first; at least one
  int cpus = 1;
  double cycles_per_ns = 1;
  bool emulated = false;

  /// Strict: unknown keys, no tiers, or a node named twice are kInvalid.
  static Result<Machine> from_json(const std::string& text);
  static Result<Machine> load(const std::string& path);
  std::string to_json() const;

  /// What the kernel says: nodes with memory, grouped by
  /// sys/devices/virtual/memory_tiering, else by whether they have CPUs and
  /// by distance; latency and bandwidth from HMAT (access0) where present,
  /// else 0 (not known).
  /// `root` stands for "/" (a recorded tree in tests).
  static Result<Machine> from_kernel(const std::string& root);

  /// The tier of a NUMA node, or kNoTier.
  TierId tier_of_node(int node) const;
  /// The tier of that name, or kNoTier.
  TierId find(const std::string& name) const;
  bool operator==(const Machine&) const = default;
};

}  // namespace thermocline
