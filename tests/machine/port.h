// Port: one end of a virtio-serial port, as a socket that QEMU serves.
//
// Thread safety: none; used by one thread. Nothing here blocks.
#pragma once

#include <cstddef>
#include <string>

namespace thermocline {

class Port {
 public:
  explicit Port(std::string path) : path_(std::move(path)) {}
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// Connects if it is not connected; QEMU may not be listening yet.
  bool open();
  void close();
  int descriptor() const { return descriptor_; }

  /// Writes what the other end takes now; returns how many bytes.
  std::size_t write(const char* data, std::size_t size);

  /// Appends what has arrived to `text`.
  void read(std::string& text);

  /// Bytes written that QEMU has not taken yet.
  std::size_t unread() const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace thermocline
