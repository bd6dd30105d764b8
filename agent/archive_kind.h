// archive_kind: tells our archives (archive.h) from other files, without
// LibTorch.
#pragma once

#include <string>

namespace thermocline {

inline constexpr const char* kAgentKind = "agent";
inline constexpr const char* kCheckpointKind = "checkpoint";
inline constexpr const char* kNoneOfOurs = "other archive";

/// kAgentKind or kCheckpointKind, by the comment at the file's end, damaged or
/// not; kNoneOfOurs for what begins as an archive and has no such comment, so
/// also for what was cut off; "" for any other file and for none.
std::string archive_kind(const std::string& path);

}  // namespace thermocline
