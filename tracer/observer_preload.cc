// The part of the tensor observer that LD_PRELOAD puts into every process of a
// job: it notices that LibTorch has come, and then loads the part that knows
// LibTorch, which lies beside it. In any other process it does nothing.
//
// Set THERMOCLINE_OBSERVER to the listener's Unix socket; without it nothing
// happens at all. THERMOCLINE_OBSERVER_DEBUG=1 lets the observer say on
// standard error why it stays silent.
//
// Only for a LibTorch of the version it was built for, by its soname: another
// build has another binary interface. A job that brings another is told so, in
// one line on standard error, and runs on.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Dlopen = void* (*)(const char*, int) noexcept;

constexpr const char* kTorch = "libtorch_cpu.so.1.13";
constexpr const char* kAnyTorch = "libtorch_cpu.so";
constexpr const char* kObserver = "thermocline_observer_torch.so";

std::atomic<Dlopen> g_dlopen{nullptr};
std::atomic<bool> g_started{false};  // the program's own libraries are set up
std::atomic<bool> g_done{false};

// Asking for a library while another dlopen of this thread still sets one up
// would run constructors out of their order. A thread is inside one while it
// is inside ours, or perhaps while its stack is deeper than where it left for
// the real one without coming back to us.
thread_local int t_inside = 0;
thread_local std::uintptr_t t_left_at = 0;

Dlopen real_dlopen() {
  auto found = g_dlopen.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen"));
    g_dlopen.store(found, std::memory_order_relaxed);
  }
  return found;
}

bool wanted() {
  const char* path = getenv("THERMOCLINE_OBSERVER");
  return path != nullptr && *path != '\0';
}

void load_observer() {
  static const char here = 0;
  Dl_info self{};
  char path[4096];
  if (dladdr(&here, &self) == 0) return;
  const char* const name = self.dli_fname;
  const char* const slash = strrchr(name, '/');
  const auto folder =
      slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - name);
  if (folder + strlen(kObserver) >= sizeof path) return;
  memcpy(path, name, folder);
  memcpy(path + folder, kObserver, strlen(kObserver) + 1);
  void* const loaded = real_dlopen()(path, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* const why = dlerror();
    if (getenv("THERMOCLINE_OBSERVER_DEBUG") != nullptr) {
      fprintf(stderr, "thermocline: no tensor observer: %s\n", why);
    }
  }
}

// dl_iterate_phdr's callback; stops at a LibTorch.
int is_torch(dl_phdr_info* library, std::size_t, void* found) {
  const char* const slash = strrchr(library->dlpi_name, '/');
  const char* const name = slash == nullptr ? library->dlpi_name : slash + 1;
  if (strncmp(name, kAnyTorch, strlen(kAnyTorch)) != 0) return 0;
  *static_cast<const char**>(found) = library->dlpi_name;
  return 1;
}

void look_for_another_torch() {
  const char* path = nullptr;
  if (dl_iterate_phdr(&is_torch, &path) == 0 || g_done.exchange(true)) return;
  fprintf(stderr,
          "thermocline: no tensor observer: %s is not %s, which it was built "
          "for; the job runs on, its tensors are not seen\n",
          path, kTorch);
}

[[gnu::noinline]] void look_for_torch() {
  if (g_done.load(std::memory_order_acquire) || !wanted()) return;
  const int error = errno;
  ++t_inside;
  void* const torch = real_dlopen()(kTorch, RTLD_NOLOAD | RTLD_LAZY);
  if (torch == nullptr) {
    dlerror();  // nobody else shall find our question's answer
    look_for_another_torch();
  } else if (!g_done.exchange(true)) {
    load_observer();
  }
  --t_inside;
  errno = error;
}

// A program that was linked with LibTorch has it already.
__attribute__((constructor)) void start() {
  look_for_torch();
  g_started.store(true);
}

// A name without a slash is looked up along the caller's own run path, and
// dlopen tells its caller by the return address.
[[gnu::noinline]] bool depends_on_caller(const char* file, const void* caller) {
  if (file == nullptr || strchr(file, '/') != nullptr) return false;
  Dl_info info{};
  void* extra = nullptr;
  if (dladdr1(caller, &info, &extra, RTLD_DL_LINKMAP) == 0) return true;
  const auto* const map = static_cast<const link_map*>(extra);
  for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH) return true;
  }
  return false;
}

bool may_look(std::uintptr_t stack) {
  if (t_left_at != 0 && stack >= t_left_at) t_left_at = 0;
  return g_started.load(std::memory_order_relaxed) && t_inside == 0 &&
         t_left_at == 0 && !g_done.load(std::memory_order_relaxed);
}

}  // namespace

// Where its caller matters, or nothing is to be noticed, the real dlopen must
// be jumped to instead of called (so this file is always optimised); a LibTorch
// that comes so is noticed at the next dlopen.
#ifdef __clang__
#define JUMP_TO [[clang::musttail]] return
#else
#define JUMP_TO return  // g++ jumps where no local's address is known outside
#endif

extern "C" __attribute__((visibility("default"))) void* dlopen(
    const char* file, int mode) noexcept {
  const auto real = real_dlopen();
  const auto stack =
      reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool look = may_look(stack);
  if (!look) JUMP_TO real(file, mode);
  if (depends_on_caller(file, __builtin_return_address(0))) {
    look_for_torch();
    if (t_left_at == 0) t_left_at = stack;
    JUMP_TO real(file, mode);
  }
  ++t_inside;
  void* const handle = real(file, mode);
  --t_inside;
  if (handle != nullptr) look_for_torch();
  return handle;
}
