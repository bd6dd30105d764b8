#include "traces/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace thermocline {

int put_in_place(const std::string& temporary, const std::string& path,
                 Existing existing) {
  if (existing == Existing::kKeep) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                    RENAME_NOREPLACE) == 0) {
      return 0;
    }
    // Not every file system knows this flag (9p does not).
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::access(path.c_str(), F_OK) == 0) return EEXIST;
  }
  return ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
}

int sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno;
  const int code = ::fsync(file) == 0 || errno == EINVAL ? 0 : errno;
  ::close(file);
  return code;
}

namespace {

// Open, and gone at the end of its scope unless it was put in place.
class Temporary {
 public:
  explicit Temporary(const std::string& beside)
      : path_(beside + ".XXXXXX"),
        file_(::mkostemp(path_.data(), O_CLOEXEC)),
        code_(file_ < 0 ? errno : 0) {
    if (file_ >= 0) ::fchmod(file_, 0644);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file_ < 0) return;
    ::close(file_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void write(const void* bytes, std::size_t size) {
    const char* at = static_cast<const char*>(bytes);
    while (code_ == 0 && size > 0) {
      const auto n = ::write(file_, at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        code_ = n < 0 ? errno : EIO;
        return;
      }
      at += n;
      size -= static_cast<std::size_t>(n);
    }
  }
  // Returns: 0, or errno of whatever failed first.
  int finish(const std::string& path, Existing existing) {
    if (code_ == 0 && ::fsync(file_) != 0) code_ = errno;
    if (code_ == 0) code_ = put_in_place(path_, path, existing);
    if (code_ == 0) path_.clear();
    return code_;
  }

 private:
  std::string path_;
  int file_;
  int code_;
};

}  // namespace

Error file_failure(const std::string& verb, const std::string& path, int code) {
  const std::string message =
      "cannot " + verb + " " + path + ": " + std::strerror(code);
  const bool reads = verb == "read" || verb == "open";
  switch (code) {
    case ENOENT:
      return not_found(
          message + (reads ? "; check its name" : "; make its folder first"));
    case EACCES:
    case EPERM:
    case EROFS:
      return permission(message + (reads ? "; ask its owner"
                                         : "; name a file in another folder"));
    case EEXIST:
      return invalid(message + "; name another file, or remove that one");
    case ENOSPC:
    case EDQUOT: return io(message + "; make room, or name another disk");
    case EISDIR: return invalid(message + "; name a file");
    default: return io(message);
  }
}

Error exists_already(const std::string& path) {
  return invalid(path + ": exists already; name another file or use --force");
}

namespace {

// /dev/stdout and its like: links to what a process has open.
bool leads_to_proc(const std::string& path) {
  std::error_code failed;
  const auto to = std::filesystem::read_symlink(path, failed).string();
  return !failed && to.starts_with("/proc/");
}

// Whether a rename to `path` replaces a file, or nothing.
Status check_kind(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return {};
  if (S_ISDIR(found.st_mode)) return file_failure("write", path, EISDIR);
  if (S_ISREG(found.st_mode) && !leads_to_proc(path)) return {};
  return invalid("cannot write " + path +
                 ": a device, pipe or socket is there, no file; name a file");
}

}  // namespace

Status may_write(const std::string& path, Existing existing) {
  if (auto ok = check_kind(path); !ok) return ok.error();
  if (existing == Existing::kKeep && ::access(path.c_str(), F_OK) == 0) {
    return exists_already(path);
  }
  const auto slash = path.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return file_failure("write", path, errno);
  }
  return {};
}

Status replace_file(const std::string& path, const std::string& bytes,
                    Existing existing) {
  return replace_file(
      path,
      [&](const FileSink& sink) {
        sink(bytes.data(), bytes.size());
        return true;
      },
      existing);
}

Status replace_file(const std::string& path,
                    const std::function<bool(const FileSink&)>& produce,
                    Existing existing) {
  if (auto ok = check_kind(path); !ok) return ok.error();
  Temporary file(path);
  const bool whole = produce(
      [&](const void* bytes, std::size_t size) { file.write(bytes, size); });
  if (!whole) return interrupted("stopped; " + path + " was not written");
  if (const int code = file.finish(path, existing); code != 0) {
    return file_failure("write", path, code);
  }
  // What cannot be waited for is there all the same.
  static_cast<void>(sync_folder_of(path));
  return {};
}

}  // namespace thermocline
