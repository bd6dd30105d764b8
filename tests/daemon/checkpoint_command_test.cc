// thermocline checkpoint verify: what its exit code and last line say.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/daemon/commands.h"
#include "training/checkpoint.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

class CheckpointCommand : public Commands {
 protected:
  // Of three checkpoints, those of steps 1 to 3 in slots 0 to 2.
  void SetUp() override {
    Commands::SetUp();
    const ByteVector bytes(10'000, 7);
    const std::vector<Piece> pieces{{.name = "a", .bytes = bytes}};
    auto made = CheckpointPool::create(pool(), {.slot_bytes = 1 << 16});
    ASSERT_TRUE(made) << made.error().message;
    for (const std::uint64_t step : {1U, 2U, 3U}) {
      ASSERT_TRUE(made->save(pieces, step));
    }
    block_ = made->superblock();
  }
  std::string pool() const { return scratch / "job.pool"; }
  void flip(Bytes offset) const {
    std::fstream file(pool(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 4));
  }
  Ran verify() const { return run({"checkpoint", "verify", pool()}); }
  Bytes payload(std::uint32_t slot) const {
    return block_.slot_offset(slot) + 1000;
  }

  Superblock block_;
};

TEST_F(CheckpointCommand, VerifyEndsWith0WhenAllIsWhole) {
  const auto ran = verify();
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("a job goes on from step 3"));
}

TEST_F(CheckpointCommand, VerifyEndsWith1WhenAnyIsDamagedAndSaysWhatIsLeft) {
  for (const std::uint32_t slot : {0U, 1U, 2U}) {
    flip(payload(slot));
    const auto ran = verify();
    EXPECT_EQ(ran.status, 1) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(pool() + " is damaged; slot " +
                                      std::to_string(slot) + ": \"a\""));
    EXPECT_THAT(ran.output, HasSubstr(slot == 2 ? "goes on from step 2"
                                                : "goes on from step 3"));
    for (const std::uint32_t other : {0U, 1U, 2U}) {
      const auto text = "step " + std::to_string(other + 1) +
                        " (export --slot " + std::to_string(other) + ")";
      EXPECT_EQ(ran.output.find(text) != std::string::npos, other != slot)
          << ran.output;
    }
    flip(payload(slot));
  }
}

TEST_F(CheckpointCommand, VerifySaysWhatIsWrongAroundThem) {
  for (const Bytes at : {Bytes{20}, head_offset(0)}) {
    flip(at);
    const auto ran = verify();
    EXPECT_EQ(ran.status, 1) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr(at == 20 ? "superblock" : "head page 0"));
    EXPECT_THAT(ran.output, HasSubstr("step 3 (export --slot 2)"));
    flip(at);
  }
  std::filesystem::resize_file(pool(), block_.slot_offset(2));
  const auto ran = verify();
  EXPECT_EQ(ran.status, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("cut short"));
  EXPECT_THAT(ran.output, HasSubstr("step 2 (export --slot 1)"));
}

}  // namespace
}  // namespace thermocline
