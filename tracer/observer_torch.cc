// The start of the tensor observer in a process that has LibTorch: connects,
// and puts a c10::Allocator in front of the one for CPU memory that tells of
// every tensor's birth and death and otherwise changes nothing: the memory
// comes from the allocator that was there before.
#include "tracer/observer_torch.h"

#include <c10/core/Allocator.h>
#include <pthread.h>
#include <torch/version.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace thermocline {
namespace {

// Never destroyed: tensors die after every destructor has run.
ObserverLink* g_link = nullptr;
c10::Allocator* g_before = nullptr;
c10::DeleterFnPtr g_free = nullptr;

void tell_and_free(void* memory) {
  const int error = errno;
  if (auto* const link = observer_link()) link->died(memory);
  errno = error;
  g_free(memory);
}

class TellingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    auto data = g_before->allocate(bytes);
    auto* const link = observer_link();
    if (link == nullptr || data.get() == nullptr) return data;
    // Also after the link has gone quiet this deleter is right: it frees.
    if (!data.compare_exchange_deleter(g_free, &tell_and_free)) return data;
    const int error = errno;
    link->born(data.get(), bytes);
    errno = error;
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &tell_and_free; }
};

void complain(const std::string& why) {
  if (std::getenv("THERMOCLINE_OBSERVER_DEBUG") == nullptr) return;
  std::fprintf(stderr, "thermocline: no tensor observer: %s\n", why.c_str());
}

// Every handler asks for the link itself: it never goes away.
void before_fork() { g_link->before_fork(); }
void after_fork() { g_link->after_fork(); }
void in_child() {
  g_link->in_child();
  watch_operators_in_child();
}

void say_goodbye() {
  if (g_link != nullptr) g_link->finish();
}

__attribute__((constructor)) void start() {
  const char* const path = std::getenv("THERMOCLINE_OBSERVER");
  if (path == nullptr || *path == '\0') return;
  g_before = c10::GetAllocator(c10::DeviceType::CPU);
  g_free = g_before == nullptr ? nullptr : g_before->raw_deleter();
  if (g_free == nullptr) return complain("an allocator of the job's own");
  auto link = ObserverLink::open(path, "torch " TORCH_VERSION);
  if (!link) return complain(link.error().message);
  g_link = (*std::move(link)).release();
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

}  // namespace thermocline
