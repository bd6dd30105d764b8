// The start of the tensor observer in a process that has LibTorch: connects,
// and puts a c10::Allocator in front of the one for CPU memory that tells of
// every tensor's birth and death. Where the memory comes from it changes only
// when asked to aggregate (THERMOCLINE_AGGREGATE, options as JSON): then from
// arenas, where those have a place, and as before otherwise.
//
// There is one deleter for all, which tells whose the memory is by its address:
// so DataPtr::get_deleter() is raw_deleter(), and context and data are one, as
// with LibTorch's own allocator.
#include "tracer/observer_torch.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <torch/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#undef CHECK  // LibTorch has one as well
#include "traces/fields.h"

// Defined by c10/core/impl/alloc_cpu.cc, and declared in no header.
C10_DECLARE_bool(caffe2_cpu_allocator_do_zero_fill);
C10_DECLARE_bool(caffe2_cpu_allocator_do_junk_fill);

namespace thermocline {
namespace {

// Never destroyed: tensors die after every destructor has run.
ObserverLink* g_link = nullptr;
Aggregation* g_aggregation = nullptr;
c10::Allocator* g_before = nullptr;
c10::DeleterFnPtr g_free = nullptr;
int g_pid = 0;  // of the process that keeps the profile

void tell_and_free(void* memory) {
  const int error = errno;
  auto* const placed = g_aggregation;
  if (auto* const link = observer_link()) {
    const auto serial = link->died(memory);
    if (placed != nullptr && serial != 0) placed->died(serial);
  }
  const bool ours = placed != nullptr && placed->owns(memory);
  if (ours) {
    c10::profiledCPUMemoryReporter().Delete(memory);
    placed->give_back(memory);
  }
  errno = error;
  if (!ours) g_free(memory);
}

class TellingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    auto* const link = observer_link();
    auto* const placed = g_aggregation;
    Aggregation::Place place;
    const int error = errno;
    if (placed != nullptr && bytes > 0) {
      place = placed->place(allocation_site_here(), bytes);
    }
    auto data = place.memory == nullptr ? g_before->allocate(bytes)
                                        : take(place.memory, bytes);
    if (data.get() == nullptr) return data;
    // Also after the link has gone quiet this deleter is right: it frees.
    if (place.memory == nullptr &&
        (link == nullptr ||
         !data.compare_exchange_deleter(g_free, &tell_and_free))) {
      return data;
    }
    if (link != nullptr) {
      const auto serial = link->born(data.get(), bytes);
      if (placed != nullptr && serial != 0 && placed->watching()) {
        placed->born(serial, place.key, bytes);
      }
    }
    errno = error;
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &tell_and_free; }

 private:
  static c10::DataPtr take(void* memory, std::size_t bytes) {
    c10::profiledCPUMemoryReporter().New(memory, bytes);
    return {memory, memory, &tell_and_free, c10::Device(c10::DeviceType::CPU)};
  }
};

// How long it may keep back what it has to tell, with
// THERMOCLINE_OBSERVER_PROMPT: for a listener that follows a plan.
constexpr Nanos kPrompt = 2'000'000;

void complain(const std::string& why) {
  if (std::getenv("THERMOCLINE_OBSERVER_DEBUG") == nullptr) return;
  std::fprintf(stderr, "thermocline: no tensor observer: %s\n", why.c_str());
}

// What somebody asked for is not silently left out.
void complain_of_aggregation(const std::string& why) {
  std::fprintf(stderr, "thermocline: tensors are not aggregated: %s\n",
               why.c_str());
}

void start_aggregation(const char* asked) {
  const auto json = nlohmann::json::parse(asked, nullptr, false);
  auto options = read_options<AggregationOptions>(json);
  if (!options) return complain_of_aggregation(options.error().message);
  if (g_before != c10::GetDefaultCPUAllocator() ||
      FLAGS_caffe2_cpu_allocator_do_zero_fill ||
      FLAGS_caffe2_cpu_allocator_do_junk_fill) {
    return complain_of_aggregation("the job has an allocator of its own");
  }
  auto made = Aggregation::make(*options);
  if (!made) return complain_of_aggregation(made.error().message);
  g_aggregation = (*std::move(made)).release();
  g_pid = getpid();
}

void tell_figures() {
  auto* const link = observer_link();
  if (link == nullptr || g_aggregation == nullptr) return;
  for (const auto& [name, value] : g_aggregation->figures()) {
    link->figure(std::string("aggregation.") + name, value);
  }
}

// Every handler asks for the link itself: it never goes away.
void before_fork() {
  operators_before_fork();
  if (g_aggregation != nullptr) g_aggregation->before_fork();
  g_link->before_fork();
}
void after_fork() {
  g_link->after_fork();
  if (g_aggregation != nullptr) g_aggregation->after_fork();
  operators_after_fork();
}
void in_child() {
  g_link->in_child();
  if (g_aggregation != nullptr) g_aggregation->after_fork();
  watch_operators_in_child();
}

void say_goodbye() {
  if (g_aggregation != nullptr && getpid() == g_pid) {
    tell_figures();
    if (auto saved = g_aggregation->save(); !saved) {
      std::fprintf(stderr, "thermocline: %s\n", saved.error().message.c_str());
    }
  }
  if (g_link != nullptr) g_link->finish();
}

__attribute__((constructor)) void start() {
  const char* const path = std::getenv("THERMOCLINE_OBSERVER");
  if (path == nullptr || *path == '\0') return;
  g_before = c10::GetAllocator(c10::DeviceType::CPU);
  g_free = g_before == nullptr ? nullptr : g_before->raw_deleter();
  if (g_free == nullptr) return complain("an allocator of the job's own");
  ObserverLink::Options options;
  if (std::getenv("THERMOCLINE_OBSERVER_PROMPT") != nullptr) {
    options.flush_every = kPrompt;
  }
  auto link = ObserverLink::open(path, "torch " TORCH_VERSION, options);
  if (!link) return complain(link.error().message);
  g_link = (*std::move(link)).release();
  const char* const asked = std::getenv("THERMOCLINE_AGGREGATE");
  if (asked != nullptr && *asked != '\0') start_aggregation(asked);
  pthread_atfork(&before_fork, &after_fork, &in_child);
  std::atexit(&say_goodbye);
  static TellingAllocator telling;
  c10::SetAllocator(c10::DeviceType::CPU, &telling, 1);
  watch_operators();
}

}  // namespace

ObserverLink* observer_link() {
  return g_link != nullptr && g_link->on() ? g_link : nullptr;
}

Aggregation* aggregation() { return g_aggregation; }

void iteration_ended() {
  if (g_aggregation == nullptr) return;
  const bool watched = g_aggregation->watching();
  g_aggregation->end_step();
  if (watched) tell_figures();
}

}  // namespace thermocline
