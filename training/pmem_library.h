// PmemLibrary: libpmem2 and libpmem, loaded when somebody first asks for them.
//
// They bring libndctl, libkmod and libcrypto along, a fifth of the time in
// which `thermocline query` starts, and only checkpoints and the probe of a
// file need them. No ELF header names them: the packages do.
// Thread safety: all of it from any thread.
#pragma once

#include <libpmem.h>
#include <libpmem2.h>

#include <cstddef>

#include "traces/result.h"

namespace thermocline {

// The functions of libpmem2.h and libpmem.h with these names; never null.
struct PmemLibrary {
  decltype(&::pmem2_errormsg) errormsg;
  decltype(&::pmem2_source_from_fd) source_from_fd;
  decltype(&::pmem2_source_delete) source_delete;
  decltype(&::pmem2_config_new) config_new;
  decltype(&::pmem2_config_set_required_store_granularity)
      config_set_required_store_granularity;
  decltype(&::pmem2_config_set_protection) config_set_protection;
  decltype(&::pmem2_config_delete) config_delete;
  decltype(&::pmem2_map_new) map_new;
  decltype(&::pmem2_map_get_address) map_get_address;
  decltype(&::pmem2_map_get_size) map_get_size;
  decltype(&::pmem2_map_get_store_granularity) map_get_store_granularity;
  decltype(&::pmem2_get_memcpy_fn) get_memcpy_fn;
  decltype(&::pmem2_get_flush_fn) get_flush_fn;
  decltype(&::pmem2_get_drain_fn) get_drain_fn;
  decltype(&::pmem2_map_delete) map_delete;
  decltype(&::pmem_memcpy) memcpy;
  decltype(&::pmem_drain) drain;
};

/// Stays loaded. Errors: kUnsupported, with the package that lacks.
Result<const PmemLibrary*> pmem_library();

/// memcpy() past the caches; an ordinary one where libpmem is not installed.
/// finish_streams() orders it before what the thread stores next.
void stream_copy(void* to, const void* from, std::size_t size);
void finish_streams();

}  // namespace thermocline
