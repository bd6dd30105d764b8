// FakeRoot: a directory that stands for "/", with the files a test puts there.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/result.h"

namespace thermocline {

class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = "/tmp/thermocline-root-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

  FakeRoot& file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
    return *this;
  }

  // A node of the NUMA tree. `distance`: to all online nodes, in order.
  FakeRoot& node(int id, const std::string& cpus, unsigned long kib,
                 const std::string& distance) {
    const std::string name = std::to_string(id);
    const std::string folder = "sys/devices/system/node/node" + name + "/";
    file(folder + "cpulist", cpus);
    file(folder + "distance", distance);
    return file(folder + "meminfo",
                "Node " + name + " MemTotal: " + std::to_string(kib) + " kB");
  }
  FakeRoot& online(const std::string& nodes) {
    return file("sys/devices/system/node/online", nodes);
  }
  // One of HMAT's files, "read_latency" and so on.
  FakeRoot& hmat(int node, const std::string& name, int value,
                 const std::string& access = "access0") {
    return file("sys/devices/system/node/node" + std::to_string(node) + "/" +
                    access + "/initiators/" + name,
                std::to_string(value));
  }
  // All four of them: latency in ns, bandwidth in MiB/s.
  FakeRoot& hmat(int node, int latency, int bandwidth,
                 const std::string& access = "access0") {
    for (const char* const way : {"read", "write"}) {
      hmat(node, std::string(way) + "_latency", latency, access);
      hmat(node, std::string(way) + "_bandwidth", bandwidth, access);
    }
    return *this;
  }
  FakeRoot& tier(int rank, const std::string& nodes) {
    return file("sys/devices/virtual/memory_tiering/memory_tier" +
                    std::to_string(rank) + "/nodelist",
                nodes);
  }
  FakeRoot& cache(int cpu, int index, int level, const std::string& type,
                  const std::string& size, const std::string& shared) {
    const std::string folder = "sys/devices/system/cpu/cpu" +
                               std::to_string(cpu) + "/cache/index" +
                               std::to_string(index) + "/";
    file(folder + "level", std::to_string(level));
    file(folder + "type", type);
    file(folder + "shared_cpu_list", shared);
    return file(folder + "size", size);
  }

 private:
  std::string path_;
};

}  // namespace thermocline
