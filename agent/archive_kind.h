// archive_kind: tells our archives (archive.h) from other files, without
// LibTorch.
#pragma once

#include <string>

namespace thermocline {

inline constexpr const char* kAgentKind = "agent";
inline constexpr const char* kCheckpointKind = "checkpoint";

/// kAgentKind or kCheckpointKind, by the comment at the file's end, damaged or
/// not;
/// "" for any other file and for none.
std::string archive_kind(const std::string& path);

}  // namespace thermocline
