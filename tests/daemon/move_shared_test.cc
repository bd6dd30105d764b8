// Whoever wants to move what other processes map, too, needs the right to.
#include <gtest/gtest.h>

#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/daemon/scripted_policy.h"

namespace thermocline {
namespace {

class MoveShared : public ::testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, Bytes{1} << 30, Bytes{1} << 29);
    kernel.add_node(1, Bytes{1} << 30, Bytes{1} << 29);
  }
  Status make() {
    auto made = Service::make(kernel, scripted_machine(), options,
                              scripted(std::make_shared<Script>()));
    return made ? Status{} : made.error();
  }
  ScriptedKernel kernel;
  Service::Options options;
};

TEST_F(MoveShared, IsAskedForOnlyWhereItIsWanted) {
  EXPECT_TRUE(make());
  EXPECT_FALSE(kernel.moves_shared);
  options.target.move_shared = true;
  EXPECT_TRUE(make());
  EXPECT_TRUE(kernel.moves_shared);
}

TEST_F(MoveShared, WithoutTheRightTheDaemonDoesNotStart) {
  kernel.may_move_shared = false;
  options.target.move_shared = true;
  const auto status = make();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kPermission);
  EXPECT_NE(status.error().message.find("CAP_SYS_NICE"), std::string::npos);
  options.mover = "dry";  // which needs none
  EXPECT_TRUE(make());
}

}  // namespace
}  // namespace thermocline
