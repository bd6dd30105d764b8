// A program that opens a plugin by a name that only its own run path
// resolves. An observer that calls dlopen in its stead would break it.
#include <dlfcn.h>

#include <cstdio>

int main() {
  void* const plugin = dlopen("librun_path_plugin.so", RTLD_NOW);
  if (plugin == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto answer = reinterpret_cast<int (*)()>(dlsym(plugin, "answer"));
  std::printf("answer %d\n", answer());
  return dlopen("/no/such/library.so", RTLD_NOW) == nullptr &&
                 dlerror() != nullptr
             ? 0
             : 1;
}
