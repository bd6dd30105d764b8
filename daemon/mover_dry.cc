// mover "dry": moves nothing and says so; decisions are still explained.
#include <cerrno>
#include <nlohmann/json.hpp>

#include "daemon/mover.h"
#include "traces/fields.h"

namespace thermocline {

std::uint64_t MoveOutcome::failures() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, pages] : failed) sum += pages;
  return sum;
}

std::string failure_name(int error_number) {
  switch (error_number) {
    case EBUSY: return "busy";
    case ENOMEM: return "no_memory";
    case EACCES: return "shared";  // mapped by several processes, or cpuset
    case ENOENT: return "absent";
    case EFAULT: return "unmapped";
    case EPERM: return "permission";
    case ESRCH: return "gone";
    case ENODEV: return "no_node";
    case EIO: return "io";
    case EINVAL: return "invalid";
    default: return "error_" + std::to_string(error_number);
  }
}

namespace {

class DryMover final : public Mover {
 public:
  struct Options {
    void fields(auto&) {}
  };
  static Result<std::unique_ptr<Mover>> make(Options) {
    return std::unique_ptr<Mover>(std::make_unique<DryMover>());
  }
  bool moves() const override { return false; }
  std::vector<MoveOutcome> move(Kernel&, const Machine&, int,
                                std::span<const MoveOrder> orders) override {
    std::vector<MoveOutcome> out;
    for (const auto& order : orders) out.push_back(outcome_of(order));
    return out;
  }
};

const Register<Mover> kEntry{
    "dry", entry<Mover, DryMover>("Decides and explains; moves nothing.")};

}  // namespace
}  // namespace thermocline
