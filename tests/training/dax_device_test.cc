// DAX devices as sysfs tells of them.
#include "training/dax_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/estimator/fake_root.h"
#include "training/mapped_file.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

constexpr Bytes kMiB = Bytes{1} << 20;

class Sysfs : public testing::Test {
 protected:
  // As the kernel lays it out: the number is a link to the device.
  void device(const std::string& folder, const std::string& bus = "bus/dax") {
    namespace fs = std::filesystem;
    const fs::path root = root_.path();
    fs::create_directories(root / "sys/dev/char");
    fs::create_directories(root / folder);
    fs::create_directory_symlink(root / folder, root / "sys/dev/char/252:3");
    fs::create_directory_symlink(root / "sys" / bus,
                                 root / folder / "subsystem");
    folder_ = folder + "/";
  }
  void has(const std::string& name, const std::string& text) {
    root_.file(folder_ + name, text);
  }
  Result<DaxDevice> look() const {
    return dax_device(root_.path(), 252, 3, "/dev/dax0.0");
  }
  void expect_refused(Error::Code code,
                      const std::vector<std::string>& parts) const {
    const auto found = look();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, code);
    for (const auto& part : parts) {
      EXPECT_THAT(found.error().message, HasSubstr(part));
    }
  }
  FakeRoot root_;
  std::string folder_;
};

constexpr const char* kNvdimm =
    "sys/devices/LNXSYSTM:00/ACPI0012:00/ndbus0/region0/dax0.1/dax0.0";

TEST_F(Sysfs, TellsSizeAndAlignmentOfAnNvdimm) {
  device(kNvdimm);
  has("size", "1054867456");  // 1006 MiB
  has("align", "2097152");
  const auto found = look();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->name, "dax0.0");
  EXPECT_EQ(found->size, 1006 * kMiB);
  EXPECT_EQ(found->align, 2 * kMiB);
  EXPECT_TRUE(found->persistent);
}

TEST_F(Sysfs, WithoutAnAlignmentItIsTheUsualOne) {
  device("sys/devices/platform/hmem.0/dax0.0");
  has("size", "4194304");
  const auto found = look();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->align, 2 * kMiB);
  EXPECT_FALSE(found->persistent);  // memory that firmware set apart forgets
}

TEST_F(Sysfs, WhatIsNotAlignedIsRefusedWithBothNumbers) {
  device(kNvdimm);
  has("size", "1073741824");
  has("align", "1073741824");
  EXPECT_TRUE(look());
  has("size", "1054867456");
  expect_refused(Error::Code::kUnsupported,
                 {"/dev/dax0.0", "1054867456", "1073741824", "ndctl"});
  has("align", "3000000");
  expect_refused(Error::Code::kUnsupported, {"3000000"});
  has("align", "2048");
  expect_refused(Error::Code::kUnsupported, {"2048"});
}

TEST_F(Sysfs, NoMemoryNoSizeAndNoDaxAreTold) {
  expect_refused(Error::Code::kInvalid, {"/dev/dax0.0", "daxctl list"});
  device(kNvdimm);
  expect_refused(Error::Code::kIo, {"size"});
  has("size", "0");
  expect_refused(Error::Code::kUnsupported, {"has no memory", "daxctl"});
}

TEST_F(Sysfs, AnotherKindOfDeviceIsRefused) {
  device("sys/devices/virtual/mem/null", "class/mem");
  has("size", "2097152");
  expect_refused(Error::Code::kInvalid, {"no DAX device"});
}

// A real character device that is none.
TEST(MappedDevice, NullIsNoMemory) {
  const auto file = MappedFile::open("/dev/null", MappedFile::Access::kWrite);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::kInvalid);
  EXPECT_THAT(file.error().message, HasSubstr("/dev/null"));
}

}  // namespace
}  // namespace thermocline
