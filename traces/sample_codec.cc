#include "traces/sample_codec.h"

#include <algorithm>
#include <array>
#include <limits>

#include "traces/access_code.h"
#include "traces/result.h"

namespace thermocline {
namespace {

enum Column : std::uint8_t {
  kTime = 1,
  kIps = 2,
  kIp = 3,
  kAddress = 4,
  kThread = 5,
  kCpu = 6,
  kLatency = 7,
  kPeriod = 8,
  kKind = 9,
  kPhysical = 10,
  kRetireLatency = 11,
  kColumns = 12,
};

// Pages of any size have their addresses' last 12 bits, physical or virtual.
constexpr int kPageShift = 12;
constexpr Address kPageOffset = (Address{1} << kPageShift) - 1;

constexpr std::uint64_t kMostRetireLatency =
    std::numeric_limits<std::uint16_t>::max();

// Walks one column of all samples: set(sample, next value) at each.
template <typename Set>
bool walk(ByteSpan column, std::span<Sample> samples, Set set) {
  if (column.empty()) return true;  // absent: defaults
  ByteReader in(column);
  for (auto& sample : samples) set(sample, in.varint());
  return in.ok() && in.empty();
}

// A column of 32-bit differences.
template <std::uint32_t Sample::*Field>
bool walk_differences(ByteSpan column, std::span<Sample> samples) {
  std::uint64_t value = 0;
  bool fits = true;
  const bool whole =
      walk(column, samples, [&](Sample& sample, std::uint64_t next) {
        value += unfold(next);
        fits = fits && value <= std::numeric_limits<std::uint32_t>::max();
        sample.*Field = static_cast<std::uint32_t>(value);
      });
  return whole && fits;
}

// The addresses of each instruction. Physical pages mostly lie beside each
// other where virtual ones do.
bool walk_places(std::span<const ByteSpan> columns, std::span<Sample> samples) {
  std::vector<Address> known;
  ByteReader in(columns[kIps]);
  for (Address ip = 0; !in.empty() && in.ok();) {
    known.push_back(ip += unfold(in.varint()));
  }
  if (!in.ok() || known.size() > samples.size()) return false;
  std::vector<Address> last(known.size(), 0);
  std::vector<std::uint64_t> shift(known.size(), 0);
  ByteReader which(columns[kIp]);
  ByteReader address(columns[kAddress]);
  ByteReader physical(columns[kPhysical]);
  const bool told = !physical.empty();
  for (auto& sample : samples) {
    const std::uint64_t index = which.varint();
    if (index >= known.size()) return false;
    sample.ip = known[index];
    sample.address = last[index] += unfold(address.varint());
    const std::uint64_t page = told ? physical.varint() : 0;
    if (page == 0) continue;  // not told
    shift[index] += unfold(page - 1);
    const auto at = (sample.address >> kPageShift) + shift[index];
    sample.physical = at << kPageShift | (sample.address & kPageOffset);
  }
  const auto done = [](const ByteReader& of) { return of.ok() && of.empty(); };
  return done(which) && done(address) && done(physical);
}

using Columns = std::array<ByteSpan, kColumns>;

std::string decode_columns(const Columns& columns, std::span<Sample> samples) {
  Nanos last = 0;
  const bool times =
      walk(columns[kTime], samples, [&](Sample& sample, std::uint64_t next) {
        const auto sum = static_cast<std::uint64_t>(last) + unfold(next);
        sample.time = last = static_cast<Nanos>(sum);
      });
  if (!times) return "bad times";
  if (!walk_places(columns, samples)) return "bad addresses";
  bool fits = true;
  const bool latencies =
      walk(columns[kLatency], samples, [&](Sample& sample, std::uint64_t next) {
        fits = fits && next <= std::numeric_limits<std::uint32_t>::max();
        sample.latency = static_cast<std::uint32_t>(next);
      });
  const bool waits = walk(columns[kRetireLatency], samples,
                          [&](Sample& sample, std::uint64_t next) {
                            fits = fits && next <= kMostRetireLatency;
                            sample.retire_latency =
                                static_cast<std::uint16_t>(next);
                          });
  if (!latencies || !waits || !fits) return "bad latencies";
  const bool kinds =
      walk(columns[kKind], samples, [](Sample& sample, std::uint64_t next) {
        sample.access = access_of(next);
        sample.source = source_of(next);
      });
  if (!kinds) return "bad kinds";
  if (!walk_differences<&Sample::thread>(columns[kThread], samples) ||
      !walk_differences<&Sample::cpu>(columns[kCpu], samples) ||
      !walk_differences<&Sample::period>(columns[kPeriod], samples)) {
    return "bad threads, cpus or periods";
  }
  return {};
}

}  // namespace

void SampleEncoder::column(std::uint8_t id) {
  put_varint(payload_, id);
  put_varint(payload_, column_.size());
  put_bytes(payload_, column_);
  column_.clear();
}

void SampleEncoder::encode_places(const std::vector<Sample>& samples) {
  ips_.clear();
  ip_of_.clear();
  pages_.clear();
  ip_index_.clear();
  last_address_.clear();
  last_shift_.clear();
  bool told = false;
  Address last_ip = 0;
  std::uint32_t index = 0;
  for (const auto& sample : samples) {
    if (last_address_.empty() || sample.ip != last_ip) {
      const auto fresh_index = static_cast<std::uint32_t>(ip_index_.size());
      const auto [at, fresh] = ip_index_.emplace(sample.ip, fresh_index);
      if (fresh) {
        last_address_.push_back(0);
        last_shift_.push_back(0);
      }
      index = at->second;
      last_ip = sample.ip;
    }
    put_varint(ip_of_, index);
    put_varint(column_, fold(sample.address - last_address_[index]));
    last_address_[index] = sample.address;
    if (sample.physical == 0) {
      pages_.push_back(0);
      continue;
    }
    told = true;
    const std::uint64_t shift =
        (sample.physical >> kPageShift) - (sample.address >> kPageShift);
    put_varint(pages_, 1 + fold(shift - last_shift_[index]));
    last_shift_[index] = shift;
  }
  // In order of index, which is the order of first use.
  std::vector<Address> ips(ip_index_.size());
  for (const auto& [ip, at] : ip_index_) ips[at] = ip;
  Address before = 0;
  for (const auto ip : ips) {
    put_varint(ips_, fold(ip - before));
    before = ip;
  }
  column(kAddress);
  column_.swap(ips_);
  column(kIps);
  column_.swap(ip_of_);
  column(kIp);
  if (!told) return;
  column_.swap(pages_);
  column(kPhysical);
}

const ByteVector& SampleEncoder::encode(const std::vector<Sample>& samples) {
  CHECK(samples.size() <= kMaxBlockSamples);
  payload_.clear();
  put_varint(payload_, samples.size());
  const auto differences = [&](std::uint8_t id, auto of) {
    std::uint64_t last = 0;
    for (const auto& sample : samples) {
      const auto value = static_cast<std::uint64_t>(of(sample));
      put_varint(column_, fold(value - last));
      last = value;
    }
    column(id);
  };
  differences(kTime, [](const Sample& s) { return s.time; });
  encode_places(samples);
  differences(kThread, [](const Sample& s) { return s.thread; });
  differences(kCpu, [](const Sample& s) { return s.cpu; });
  for (const auto& sample : samples) put_varint(column_, sample.latency);
  column(kLatency);
  if (std::any_of(samples.begin(), samples.end(),
                  [](const Sample& s) { return s.retire_latency != 0; })) {
    for (const auto& sample : samples) {
      put_varint(column_, sample.retire_latency);
    }
    column(kRetireLatency);
  }
  differences(kPeriod, [](const Sample& s) { return s.period; });
  for (const auto& sample : samples) {
    put_varint(column_, access_code(sample.access, sample.source));
  }
  column(kKind);
  return payload_;
}

std::string decode_samples(ByteSpan payload, std::vector<Sample>& samples) {
  ByteReader in(payload);
  const std::uint64_t many = in.varint();
  Columns columns;
  while (in.ok() && !in.empty()) {
    const std::uint64_t id = in.varint();
    const ByteSpan bytes = in.take(in.varint());
    if (id < kColumns) columns[id] = bytes;
  }
  if (!in.ok()) return "bad columns";
  // A time takes at least a byte, which also bounds what we allocate.
  if (many > kMaxBlockSamples || many > columns[kTime].size()) {
    return "promises " + std::to_string(many) + " samples, holds fewer";
  }
  const std::size_t before = samples.size();
  samples.resize(before + many);
  auto why = decode_columns(columns, std::span(samples).subspan(before));
  if (!why.empty()) samples.resize(before);
  return why;
}

}  // namespace thermocline
