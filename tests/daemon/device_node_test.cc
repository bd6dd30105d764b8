#include "daemon/device_node.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "tests/training/pool_folder.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

// A DIMM of node 1 with a block device and a partition on it, a DAX device of
// node 0, and a disk that is of no node.
class DeviceNode : public ::testing::Test {
 protected:
  DeviceNode() {
    device("region0", "1");
    device("region0/namespace0.0/block/pmem0", "", "dev/block/259:0");
    device("region0/namespace0.0/block/pmem0/pmem0p1", "", "dev/block/259:1");
    device("region1", "0");
    device("region1/dax1.0/dax/dax1.0", "-1", "dev/char/252:3");
    device("virtio0/block/vda", "-1", "dev/block/9999:0");
  }
  void device(const std::string& path, const std::string& node,
              const std::string& link = "") {
    const fs::path at = root() / "sys/devices" / path;
    fs::create_directories(at);
    if (!node.empty()) std::ofstream(at / "numa_node") << node << "\n";
    if (link.empty()) return;
    fs::create_directories((root() / "sys" / link).parent_path());
    fs::create_directory_symlink(at, root() / "sys" / link);
  }
  fs::path root() const { return folder_.path(); }
  const PoolFolder folder_;
};

TEST_F(DeviceNode, IsThatOfWhatItHangsOn) {
  const auto block = [&](unsigned major, unsigned minor) {
    return device_node(root(), DeviceKind::kBlock, major, minor);
  };
  EXPECT_EQ(block(259, 0), 1);
  EXPECT_EQ(block(259, 1), 1);
  EXPECT_EQ(device_node(root(), DeviceKind::kCharacter, 252, 3), 0);
  EXPECT_EQ(block(9999, 0), std::nullopt);
  EXPECT_EQ(block(1, 1), std::nullopt);
  EXPECT_EQ(device_node(root() / "none", DeviceKind::kBlock, 259, 0),
            std::nullopt);
}

TEST_F(DeviceNode, OfAPathIsThatOfItsDevice) {
  struct stat here = {};
  ASSERT_EQ(::stat(folder_.path().c_str(), &here), 0);
  device("region2", "3");
  device("region2/block/pmem2", "",
         "dev/block/" + std::to_string(major(here.st_dev)) + ":" +
             std::to_string(minor(here.st_dev)));
  EXPECT_EQ(node_of_path(root(), folder_.path()), 3);
  EXPECT_EQ(node_of_path(root(), folder_.path() + "/none"), std::nullopt);
  // /dev/null: a character device, of which this root says nothing.
  EXPECT_EQ(node_of_path(root(), "/dev/null"), std::nullopt);
}

}  // namespace
}  // namespace thermocline
