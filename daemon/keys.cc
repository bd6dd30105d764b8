#include "daemon/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace thermocline {
namespace {

constexpr std::size_t kKeyText = 40;
using KeyText = std::array<char, kKeyText + 1>;

Status write_new(const std::string& path, const std::string& key, int mode) {
  const int fd = ::open(
      path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0 && errno == EEXIST) {
    return invalid(path +
                   " exists; keys are not replaced: remove it first, or choose "
                   "another directory");
  }
  const std::string line = key + "\n";
  const bool written = fd >= 0 &&
                       ::fchmod(fd, static_cast<mode_t>(mode)) == 0 &&
                       ::write(fd, line.data(), line.size()) ==
                           static_cast<ssize_t>(line.size()) &&
                       ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (written) return {};
  if (fd >= 0) ::unlink(path.c_str());
  return io("cannot write " + path + ": " + std::strerror(error));
}

}  // namespace

bool is_key(const std::string& text) {
  std::array<std::uint8_t, 32> bytes{};
  return text.size() == kKeyText &&
         ::zmq_z85_decode(bytes.data(), text.c_str()) != nullptr;
}

Result<std::string> make_keys(const std::string& directory) {
  KeyText public_key{};
  KeyText secret_key{};
  if (::zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    return unsupported("this ZeroMQ was built without CURVE");
  }
  std::error_code error;
  if (std::filesystem::create_directories(directory, error)) {
    ::chmod(directory.c_str(), 0700);
  }
  if (error) {
    return io("cannot make " + directory + ": " + error.message());
  }
  if (::access((directory + "/public.key").c_str(), F_OK) == 0) {
    return invalid(directory +
                   "/public.key exists; keys are not replaced: remove it "
                   "first, or choose another directory");
  }
  auto status = write_new(directory + "/secret.key", secret_key.data(), 0600);
  if (!status) return status.error();
  status = write_new(directory + "/public.key", public_key.data(), 0644);
  if (!status) return status.error();
  return std::string(public_key.data());
}

Result<std::string> read_key(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return not_found(path + " cannot be read; thermocline keygen makes keys");
  }
  std::string word;
  std::string more;
  file >> word;
  if (!is_key(word) || file >> more) {
    return corrupt(path + " does not hold one key of 40 characters (Z85)");
  }
  return word;
}

Result<KeyPair> read_keys(const std::string& directory) {
  KeyPair pair;
  const std::string secret = directory + "/secret.key";
  struct stat found {};
  if (::stat(secret.c_str(), &found) == 0 && (found.st_mode & 077) != 0) {
    return permission(secret + " can be read by others; chmod 600 it");
  }
  auto key = read_key(secret);
  if (!key) return key.error();
  pair.secret_key = *std::move(key);
  key = read_key(directory + "/public.key");
  if (!key) return key.error();
  pair.public_key = *std::move(key);
  KeyText derived{};
  if (::zmq_curve_public(derived.data(), pair.secret_key.c_str()) != 0) {
    return unsupported("this ZeroMQ was built without CURVE");
  }
  if (pair.public_key != derived.data()) {
    return corrupt(directory +
                   ": public.key does not belong to secret.key; make a new "
                   "pair with thermocline keygen");
  }
  return pair;
}

std::string default_keys() {
  if (const char* said = std::getenv("THERMOCLINE_KEYS")) return said;
  if (::geteuid() == 0) return "/etc/thermocline/keys";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.config/thermocline";
}

}  // namespace thermocline
