// The pages of `thermocline report` and `thermocline probe`: each is one file
// that needs no other.
//
// daemon/page/ has its parts: HTML with slots, a style sheet, scripts, and
// (from Debian) the drawing library. They are built into the program. The page
// may load nothing and send nothing: its own content policy forbids it.
//
// Thread safety: pure function.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace thermocline {

/// The page that shows `data`, UTF-8. Whatever bytes are in `data` (names come
/// from other programs), none can end the script that holds them.
std::string report_page(const nlohmann::ordered_json& data);

/// Likewise, of what to_json() of a ProbeReport gives.
std::string probe_page(const nlohmann::ordered_json& data);

}  // namespace thermocline
