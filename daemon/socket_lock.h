// SocketLock: makes sure that one server at a time owns a Unix socket's path.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

class SocketLock {
 public:
  /// Touches nothing, and does not mind a server that lives. Errors: kInvalid
  /// when PATH is no socket or too long; kIo when its directory cannot be
  /// written; kPermission when others could put a socket of theirs there.
  static Status check(const std::string& path);
  /// Takes PATH.lock (flock, so that it ends with its holder however that
  /// dies), makes the directory (0700) where there is none, and removes a
  /// dead server's socket. Errors: as check(), and kIo when PATH is in use.
  static Result<SocketLock> take(const std::string& path);
  SocketLock(SocketLock&& other) noexcept;
  SocketLock& operator=(SocketLock&& other) noexcept;
  ~SocketLock();  // removes PATH.lock

 private:
  SocketLock(std::string lock_path, int fd)
      : lock_path_(std::move(lock_path)), fd_(fd) {}
  std::string lock_path_;
  int fd_ = -1;
};

}  // namespace thermocline
