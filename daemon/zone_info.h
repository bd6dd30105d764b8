// usable_free_bytes: how much of a node's free memory pages of a process can
// get without reclaim.
//
// MemFree promises more: each zone keeps its low watermark, and lower zones
// (DMA, DMA32) keep a reserve from requests that a higher zone could serve
// (/proc/sys/vm/lowmem_reserve_ratio). On a node of 2 GiB that is some 20 MiB.
// Source: mm/page_alloc.c, __zone_watermark_ok().
//
// Thread safety: pure.
#pragma once

#include <optional>
#include <string_view>

#include "traces/types.h"

namespace thermocline {

/// From the text of /proc/zoneinfo. Returns: nothing when it tells of no such
/// node, or not in the kernel's form.
std::optional<Bytes> usable_free_bytes(std::string_view zoneinfo, int node);

/// The same of what the node's zones lack up to their low watermarks: what the
/// kernel has taken for itself that no process could.
std::optional<Bytes> missing_free_bytes(std::string_view zoneinfo, int node);

}  // namespace thermocline
