#include "tests/machine/clock_service.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr unsigned kDefaultPeriod = 199;
constexpr auto kSwitchPatience = 10s;   // for a vCPU to go idle
constexpr int kPollMilliseconds = 5;    // samples are put without waking us
constexpr auto kClosedTime = 1s;        // for a reader to see the end
constexpr auto kDrainPatience = 500ms;  // for a reader, when a stream ends
// Between pieces of the samples: each is an interrupt to the guest, which the
// buffer of a real sampler does not make.
constexpr auto kDrainInterval = 20ms;

std::uint64_t nanoseconds(Picos time) { return time / 1000; }

Json describe(const Counters& counters, const Core& core, const CoreKind& kind,
              std::size_t tiers) {
  Json tier_list = Json::array();
  for (std::size_t i = 0; i < tiers; ++i) {
    const TierCounters& tier = counters.tiers[i];
    tier_list.push_back({{"read_misses", tier.read_misses},
                         {"write_misses", tier.write_misses},
                         {"covered", tier.covered},
                         {"read_bytes", tier.lines_read << kLineShift},
                         {"written_bytes", tier.lines_written << kLineShift}});
  }
  const Picos busy =
      counters.instructions * kind.per_instruction + counters.stalled;
  return {{"virtual_ns", nanoseconds(core.now())},
          {"busy_ns", nanoseconds(busy)},
          {"stall_ns", nanoseconds(counters.stalled)},
          {"idle_ns", nanoseconds(counters.idle)},
          {"instructions", counters.instructions},
          {"tiers", std::move(tier_list)}};
}

}  // namespace

ClockService::ClockService(const Emulation& emulation)
    : emulation_(emulation), thread_([this] { run(); }) {}

ClockService::~ClockService() {
  ending_ = true;
  thread_.join();
}

void ClockService::run() {
  while (!ending_) {
    if (!clock_.open()) {
      std::this_thread::sleep_for(5ms);
      continue;
    }
    if (std::chrono::steady_clock::now() >= reopen_) samples_.open();
    const auto time = std::chrono::steady_clock::now();
    const bool sending = samples_.descriptor() >= 0 && time >= next_drain_ &&
                         !emulation_.queue.empty();
    pollfd wanted[] = {
        {clock_.descriptor(),
         static_cast<short>(POLLIN | (answers_.empty() ? 0 : POLLOUT)), 0},
        {samples_.descriptor(), static_cast<short>(sending ? POLLOUT : 0), 0}};
    ::poll(wanted, 2, kPollMilliseconds);
    serve_requests();
    if (sending && emulation_.queue.drain(samples_)) {
      next_drain_ = time + kDrainInterval;
    }
  }
}

void ClockService::serve_requests() {
  clock_.read(requests_);
  std::size_t end = 0;
  while ((end = requests_.find('\n')) != std::string::npos) {
    const std::string request = requests_.substr(0, end);
    requests_.erase(0, end + 1);
    answers_ += answer(request) + "\n";
  }
  answers_.erase(0, clock_.write(answers_.data(), answers_.size()));
}

std::string ClockService::answer(const std::string& request) {
  std::istringstream words(request);
  std::string verb;
  words >> verb;
  if (verb == "now") return now();
  if (verb == "start") {
    unsigned loads = kDefaultPeriod;
    unsigned stores = kDefaultPeriod;
    unsigned rate = 0;
    unsigned store_hits = 0;
    if (words >> loads && !(words >> stores)) stores = kDefaultPeriod;
    if (!words || !(words >> rate)) rate = 0;
    unsigned sequences = 0;
    if (!words || !(words >> store_hits)) store_hits = 0;
    if (!words || !(words >> sequences)) sequences = 0;
    start(loads, stores, rate, store_hits, sequences);
    return R"({"ok":true})";
  }
  if (verb == "stop") {
    stop();
    return R"({"ok":true})";
  }
  if (double dilation = 0; verb == "dilation" && words >> dilation &&
                           dilation >= 0 && dilation <= 1000) {
    emulation_.dilation = dilation;
    return R"({"ok":true})";
  }
  if (std::string state;
      verb == "model" && words >> state && (state == "on" || state == "off")) {
    return switch_model(state == "on")
               ? R"({"ok":true})"
               : R"({"ok":false,"error":"no vCPU went idle; try again"})";
  }
  return R"({"ok":false,"error":"the requests are: now, )"
         R"(start [LOAD_PERIOD [STORE_PERIOD [RATE [STORE_HIT_PERIOD [SEQUENCES]]]]], )"
         R"(stop, )"
         R"(dilation 0..1000, model on|off"})";
}

std::string ClockService::now() const {
  Picos latest = 0;
  Json cpus = Json::array();
  for (const auto& core : emulation_.cores) {
    latest = std::max(latest, core->now());
    cpus.push_back(describe(core->counters(), *core, emulation_.core,
                            emulation_.tiers.size()));
  }
  Json kinds = Json::array();
  for (const MemoryTier& tier : emulation_.tiers) {
    kinds.push_back(tier.kind.name);
  }
  const Json reply = {{"ok", true},
                      {"virtual_ns", nanoseconds(latest)},
                      {"dilation", emulation_.dilation.load()},
                      {"samples", emulation_.queue.written()},
                      {"lost", emulation_.queue.lost()},
                      {"kinds", std::move(kinds)},
                      {"cpus", std::move(cpus)}};
  return reply.dump();
}

// `rate`: samples per second of an event on one vCPU; 0: any.
void ClockService::start(unsigned load_period, unsigned store_period,
                         unsigned rate, unsigned store_hit_period,
                         unsigned sequences) {
  reopen_ = {};
  samples_.open();
  emulation_.queue.begin(emulation_.stream.header(load_period, store_period));
  emulation_.periods.loads = load_period;
  emulation_.periods.stores = store_period;
  emulation_.periods.store_hits = store_hit_period;
  emulation_.periods.sequences = sequences;
  constexpr unsigned kTicks = 1'000'000'000'000 / SamplingPeriods::kTick;
  emulation_.periods.limit = (rate + kTicks - 1) / kTicks;
  emulation_.periods.round = ++rounds_;
}

bool ClockService::switch_model(bool on) {
  emulation_.model.want(on);
  const auto deadline = std::chrono::steady_clock::now() + kSwitchPatience;
  while (emulation_.model.is_on() != on) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Ends the stream, so that its reader sees an end of file: by closing the
// port, once what is queued has gone.
void ClockService::stop() {
  emulation_.periods.round = 0;
  emulation_.queue.end();
  const auto deadline = std::chrono::steady_clock::now() + kDrainPatience;
  while (std::chrono::steady_clock::now() < deadline &&
         (!emulation_.queue.empty() || samples_.unread() != 0)) {
    emulation_.queue.drain(samples_);
    std::this_thread::sleep_for(1ms);
  }
  samples_.close();
  reopen_ = std::chrono::steady_clock::now() + kClosedTime;
}

}  // namespace thermocline
