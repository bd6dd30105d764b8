#include "training/pmem_library.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace thermocline {
namespace {

class Library {
 public:
  explicit Library(const char* name)
      : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

  template <typename Function>
  void find(const char* symbol, Function*& function) {
    if (handle_ == nullptr) return;
    function = reinterpret_cast<Function*>(::dlsym(handle_, symbol));
    if (function == nullptr && lacks_.empty()) lacks_ = symbol;
  }
  Status found(const std::string& package) const {
    if (handle_ == nullptr) {
      return unsupported(std::string(name_) +
                         " cannot be loaded, which maps persistent memory; "
                         "install Debian's " +
                         package);
    }
    if (lacks_.empty()) return {};
    return unsupported(std::string(name_) + " has no " + lacks_ +
                       "; install Debian 12's " + package);
  }

 private:
  const char* name_;
  void* handle_;
  std::string lacks_;
};

Result<PmemLibrary> load() {
  PmemLibrary out{};
  Library two("libpmem2.so.1");
  two.find("pmem2_errormsg", out.errormsg);
  two.find("pmem2_source_from_fd", out.source_from_fd);
  two.find("pmem2_source_delete", out.source_delete);
  two.find("pmem2_config_new", out.config_new);
  two.find("pmem2_config_set_required_store_granularity",
           out.config_set_required_store_granularity);
  two.find("pmem2_config_set_protection", out.config_set_protection);
  two.find("pmem2_config_delete", out.config_delete);
  two.find("pmem2_map_new", out.map_new);
  two.find("pmem2_map_get_address", out.map_get_address);
  two.find("pmem2_map_get_size", out.map_get_size);
  two.find("pmem2_map_get_store_granularity", out.map_get_store_granularity);
  two.find("pmem2_get_memcpy_fn", out.get_memcpy_fn);
  two.find("pmem2_get_flush_fn", out.get_flush_fn);
  two.find("pmem2_get_drain_fn", out.get_drain_fn);
  two.find("pmem2_map_delete", out.map_delete);
  Library one("libpmem.so.1");
  one.find("pmem_memcpy", out.memcpy);
  one.find("pmem_drain", out.drain);
  if (auto found = two.found("libpmem2"); !found) return found.error();
  if (auto found = one.found("libpmem1"); !found) return found.error();
  return out;
}

const Result<PmemLibrary>& loaded() {
  static const auto* const library = new Result<PmemLibrary>(load());
  return *library;
}

}  // namespace

Result<const PmemLibrary*> pmem_library() {
  const auto& library = loaded();
  if (!library) return library.error();
  return &*library;
}

void stream_copy(void* to, const void* from, std::size_t size) {
  if (const auto& library = loaded()) {
    library->memcpy(to, from, size,
                    PMEM_F_MEM_NODRAIN | PMEM_F_MEM_NONTEMPORAL);
  } else {
    std::memcpy(to, from, size);
  }
}

void finish_streams() {
  if (const auto& library = loaded()) library->drain();
}

}  // namespace thermocline
