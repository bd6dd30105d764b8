// Watch: told how far long work is, and asked whether to go on.
//
// Reading a large file takes seconds; who waits for it wants to see how far it
// is, and may have had enough. What reads does not know who asks.
#pragma once

#include <functional>
#include <string>

#include "traces/types.h"

namespace thermocline {

/// `done` of `all` bytes; `all` is 0 where it is not known. False: stop. Called
/// a few times a megabyte, by the thread that works. May be empty.
using Watch = std::function<bool(Bytes done, Bytes all)>;

/// A Watch of each file that is read. May be empty.
using FileWatch = std::function<Watch(const std::string& path)>;

}  // namespace thermocline
