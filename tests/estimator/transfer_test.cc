#include "estimator/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/transfer_fit.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

TEST(Transfer, PenaltiesOfTheBandwidths) {
  const auto model = TransferModel::from_machine(two_tiers());
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->penalty_ns(64'000, false, 1, 1e9), 1'000, 1e-9);
  EXPECT_NEAR(model->penalty_ns(64'000, true, 1, 1e9), 4'000, 1e-9);
  EXPECT_EQ(model->penalty_ns(64'000, true, 0, 1e9), 0);
  Machine machine = two_tiers();
  machine.tiers[1].read_bytes_per_s = std::nan("");
  const auto refused = TransferModel::from_machine(machine);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("\"slow\""));
}

TEST(Transfer, CacheAndComputeHideReadsOnly) {
  auto model = *TransferModel::from_machine(two_tiers());
  model.cached_bytes = 64'000;
  EXPECT_NEAR(model.penalty_ns(64'000, false, 1, 0), 500, 1e-9);
  EXPECT_NEAR(model.penalty_ns(64'000, true, 1, 0), 4'000, 1e-9);
  model.hidden = 0.1;
  EXPECT_NEAR(model.penalty_ns(64'000, false, 1, 5'000), 250, 1e-9);
  EXPECT_EQ(model.penalty_ns(0, false, 1, 0), 0);
}

// Reads, a write, and times that the model `truth` gives, exactly additive.
std::vector<MeasuredOperator> made_of(const TransferModel& truth) {
  std::vector<MeasuredOperator> out;
  for (Bytes size = 1'000'000; size <= 64'000'000; size *= 2) {
    MeasuredOperator op;
    op.operands = {{size, false}, {3 * size, false}, {size / 2, true}};
    const double base = 0.01 * static_cast<double>(size);
    for (unsigned bits = 0; bits < 8; ++bits) {
      OperatorTimes::Measurement one;
      one.ns = base;
      for (std::size_t i = 0; i < 3; ++i) {
        one.tiers.push_back(bits >> i & 1);
        one.ns += truth.penalty_ns(op.operands[i].bytes, op.operands[i].written,
                                   one.tiers[i], base);
      }
      op.measurements.push_back(one);
    }
    out.push_back(op);
  }
  return out;
}

TEST(Transfer, FitFindsTheRatioOfReadsToWrites) {
  TransferModel truth;
  truth.tiers = {{}, {0.02, 0.2, 0}};
  const auto operators = made_of(truth);
  std::vector<const MeasuredOperator*> pointers;
  for (const auto& op : operators) pointers.push_back(&op);
  TransferModel start;
  start.tiers = {{}, {0.05, 0.05, 0}};
  const auto fit = fit_transfer(pointers, start);
  ASSERT_TRUE(fit) << fit.error().message;
  const auto& slow = fit->tiers[1];
  EXPECT_NEAR(slow.write_ns_per_byte / slow.read_ns_per_byte, 10, 3);
}

TEST(Transfer, FitRefusesWhatSaysNothing) {
  TransferModel start;
  start.tiers = {{}, {0.05, 0.05, 0}};
  const auto refusal = [](const MeasuredOperator& op,
                          const TransferModel& model) {
    const MeasuredOperator* one = &op;
    const auto fit = fit_transfer(std::span(&one, 1), model);
    EXPECT_FALSE(fit);
    return fit ? std::string() : fit.error().message;
  };
  MeasuredOperator op = made_of(start).front();
  op.measurements.pop_back();  // all slow
  EXPECT_THAT(refusal(op, start), HasSubstr("both endpoints"));
  op = made_of(start).front();
  op.measurements.back().ns = -1;
  EXPECT_THAT(refusal(op, start), HasSubstr("-1"));
  start.tiers.push_back({});
  EXPECT_THAT(refusal(op, start), HasSubstr("3 tiers"));
}

}  // namespace
}  // namespace thermocline
