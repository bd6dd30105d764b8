#include "tests/bench/optane_kernels.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace thermocline {
namespace {

using Measurement = OperatorTimes::Measurement;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) out.push_back(part);
  return out;
}

bool add_operands(const std::string& list, bool written, Kernel& kernel) {
  for (const std::string& text : split(list, ';')) {
    Bytes bytes = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, bytes);
    if (error != std::errc() || at != end) return false;
    kernel.measured.operands.push_back({bytes, written});
  }
  return true;
}

// One line; false when it is not of the form above.
bool add_line(const std::string& line, std::map<std::string, Kernel>& kernels) {
  const auto fields = split(line, ',');
  if (fields.size() != 7) return false;
  auto [at, fresh] = kernels.try_emplace(fields[0]);
  Kernel& kernel = at->second;
  if (fresh) {
    kernel.op = fields[1];
    if (!add_operands(fields[2], false, kernel) ||
        !add_operands(fields[3], true, kernel)) {
      return false;
    }
  }
  Measurement one;
  for (const char tier : fields[4] + fields[5]) {
    if (tier != 'F' && tier != 'S') return false;
    one.tiers.push_back(tier == 'S' ? 1 : 0);
  }
  char* end = nullptr;
  one.ns = 1e3 * std::strtod(fields[6].c_str(), &end);
  if (end == fields[6].c_str() ||
      one.tiers.size() != kernel.measured.operands.size()) {
    return false;
  }
  kernel.measured.measurements.push_back(std::move(one));
  return true;
}

// Leaves out the tensors that were never slow.
void drop_constant(Kernel& kernel) {
  MeasuredOperator& op = kernel.measured;
  for (std::size_t i = op.operands.size(); i-- > 0;) {
    if (std::any_of(op.measurements.begin(), op.measurements.end(),
                    [&](const auto& one) { return one.tiers[i] == 1; })) {
      continue;
    }
    kernel.every_tensor = false;
    const auto at = static_cast<std::ptrdiff_t>(i);
    op.operands.erase(op.operands.begin() + at);
    for (auto& one : op.measurements) one.tiers.erase(one.tiers.begin() + at);
  }
}

// Whether endpoints and all single-slow mixes are there, and all times
// positive; notes the endpoints.
bool complete(Kernel& kernel) {
  const std::size_t n = kernel.measured.operands.size();
  std::size_t singles = 0;
  for (const auto& one : kernel.measured.measurements) {
    const auto slow = static_cast<std::size_t>(
        std::count(one.tiers.begin(), one.tiers.end(), TierId{1}));
    if (!std::isfinite(one.ns) || one.ns <= 0) return false;
    if (slow == 0) kernel.fast_ns = one.ns;
    if (slow == n) kernel.slow_ns = one.ns;
    singles += slow == 1;
  }
  return n > 0 && kernel.fast_ns > 0 && kernel.slow_ns > 0 && singles == n;
}

}  // namespace

Result<Kernels> read_kernels(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("no file " + path);
  std::map<std::string, Kernel> by_id;
  std::string line;
  std::getline(file, line);  // column names
  for (int number = 2; std::getline(file, line); ++number) {
    if (!add_line(line, by_id)) {
      return corrupt(path + ":" + std::to_string(number) +
                     ": not a line of measured kernels");
    }
  }
  Kernels out;
  for (auto& [id, kernel] : by_id) {
    drop_constant(kernel);
    if (complete(kernel)) {
      out.kernels.push_back(std::move(kernel));
    } else {
      ++out.incomplete;
    }
  }
  return out;
}

}  // namespace thermocline
