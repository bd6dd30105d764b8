// keep_callbacks: a way round a defect of QEMU 7.2, loaded into it before GLib.
//
// Where the last instruction of a block uses no helper, QEMU leaves the vCPU
// the list of callbacks of one that did (its issue 1381, mended in 8.0). When
// the model is switched, or there is no more room for translated code, QEMU
// frees all lists; the vCPU's next access by a helper, that of an interrupt for
// instance, then calls what is there instead. So these lists are not freed:
// some megabytes for each switch, until QEMU ends.
#include <dlfcn.h>

namespace {

struct Array {  // GLib's GArray
  char* data;
  unsigned length;
};

// Of QEMU 7.2's struct qemu_plugin_dyn_cb. Other arrays with elements of this
// size, if there are any, are kept as well, which does no harm.
constexpr unsigned kCallbackBytes = 40;

template <typename Function>
Function* next(const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

unsigned g_array_get_element_size(Array* array);

[[gnu::visibility("default")]] char* g_array_free(Array* array,
                                                  int and_its_data) {
  static auto* const free_it = next("g_array_free", &g_array_free);
  if (g_array_get_element_size(array) == kCallbackBytes) return nullptr;
  return free_it(array, and_its_data);
}

}  // extern "C"
