#include "tracer/observer_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace thermocline {
namespace {

// Room that the Loss in front of the next message needs.
constexpr std::size_t kLossBytes = 64;
// A listener that takes nothing is not asked at every event.
constexpr Nanos kRetryAfter = 1'000'000;

bool nobody_listens(int error) {
  return error == ENOENT || error == ECONNREFUSED || error == ENOTDIR;
}

Result<int> connect_to(const std::string& path,
                       const ObserverLink::Options& options) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return invalid(path + ": a socket's path has at most 107 bytes");
  }
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int made =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return io(path + ": " + std::strerror(errno));
  // A Unix socket with a full backlog answers EAGAIN: ask again for a while.
  const Nanos until = ObserverLink::now() + options.patience;
  while (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) !=
         0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EAGAIN && ObserverLink::now() < until) {
      ::poll(nullptr, 0, 5);
      continue;
    }
    close(made);
    if (nobody_listens(error)) return not_found("nobody listens on " + path);
    return io(path + ": " + std::strerror(error));
  }
  setsockopt(made, SOL_SOCKET, SO_SNDBUF, &options.socket_bytes,
             sizeof options.socket_bytes);
  return made;
}

}  // namespace

Nanos ObserverLink::now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * Nanos{1'000'000'000} + at.tv_nsec;
}

Result<std::unique_ptr<ObserverLink>> ObserverLink::open(
    const std::string& path, std::string_view framework, Options options) {
  std::unique_ptr<ObserverLink> link(
      new ObserverLink(path, framework, options));
  const std::lock_guard lock(link->mutex_);
  if (auto status = link->connect(); !status) {
    link->on_ = false;
    return status.error();
  }
  return link;
}

ObserverLink::ObserverLink(std::string path, std::string_view framework,
                           Options options)
    : path_(std::move(path)),
      framework_(framework),
      options_(options),
      flush_every_(options.flush_every),
      pid_(getpid()),
      patience_(options.patience),
      buffer_(options.buffer_bytes + 2 * kWireMessageBytes) {}

Status ObserverLink::connect() {
  auto made = connect_to(path_, options_);
  if (!made) return made.error();
  descriptor_ = *made;
  put([&](auto out) { return encode_hello(out, framework_); });
  flush(true);
  return {};
}

void ObserverLink::in_child() {
  if (on()) {
    close(descriptor_);
    pid_ = getpid();
    newborn_ = true;
    flush_every_ = 0;
    patience_ = options_.patience;
    flushed_ = 0;
    used_ = 0;
    dropped_ = 0;
    foreign_ = 0;
    names_told_ = 0;
    for (auto& [text, name] : names_) name->number = 0;
  }
  mutex_.unlock();
}

void ObserverLink::connect_as_child() {
  newborn_ = false;
  if (!connect()) {
    on_ = false;
    return;
  }
  std::vector<Tensor> inherited;
  inherited.reserve(alive_.size());
  for (const auto& [memory, tensor] : alive_) inherited.push_back(tensor);
  std::sort(inherited.begin(), inherited.end(),
            [](const auto& a, const auto& b) { return a.serial < b.serial; });
  for (const auto& tensor : inherited) {
    put([&](auto out) { return encode_born(out, tensor); });
  }
}

ObserverLink::~ObserverLink() { finish(); }

ObjectId ObserverLink::born(const void* memory, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  if (!on()) return 0;
  if (newborn_) connect_as_child();
  Tensor tensor;
  tensor.serial = ++serials_;
  tensor.address = reinterpret_cast<Address>(memory);
  tensor.bytes = bytes;
  tensor.born = now();
  alive_[memory] = tensor;
  put([&](auto out) { return encode_born(out, tensor); });
  return tensor.serial;
}

ObjectId ObserverLink::died(const void* memory) {
  const std::lock_guard lock(mutex_);
  if (!on()) return 0;
  const auto at = alive_.find(memory);
  if (at == alive_.end()) return 0;
  if (newborn_) connect_as_child();
  const TensorDied died{at->second.serial, now()};
  alive_.erase(at);
  put([&](auto out) { return encode_died(out, died); });
  return died.serial;
}

ObjectId ObserverLink::serial_of(const void* memory) {
  const std::lock_guard lock(mutex_);
  if (!on()) return 0;
  const auto at = alive_.find(memory);
  return at == alive_.end() ? 0 : at->second.serial;
}

ObserverLink::Name* ObserverLink::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  auto& name = names_[std::string(text)];
  if (!name) name = std::make_unique<Name>(Name{std::string(text), 0});
  return name.get();
}

void ObserverLink::tell(const Seen& op) {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  if (newborn_) connect_as_child();
  if (!tell_name(op.name) || !tell_name(op.layer)) {
    ++dropped_;
    return;
  }
  const WireOperator wire{op.name == nullptr ? 0 : op.name->number,
                          op.layer == nullptr ? 0 : op.layer->number,
                          op.start,
                          op.end,
                          op.thread,
                          op.phase,
                          op.reads,
                          op.writes};
  put([&](auto out) { return encode_operator(out, wire); });
}

void ObserverLink::mark(Nanos time, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  if (newborn_) connect_as_child();
  put([&](auto out) { return encode_mark(out, time, name); });
}

void ObserverLink::figure(std::string_view name, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  if (newborn_) connect_as_child();
  put([&](auto out) { return encode_figure(out, name, value); });
}

void ObserverLink::finish() {
  const std::lock_guard lock(mutex_);
  if (!on()) return;
  if (newborn_) {  // a child that did nothing with tensors
    on_ = false;
    return;
  }
  if (const auto count = foreign_.load(); count > 0) {
    put([&](auto out) {
      return encode_loss(out, now(), "observer.foreign", count);
    });
  }
  flush(true);
  flushed_ = 0;  // losses are settled now, if at all
  put([&](auto out) { return encode_goodbye(out); });
  flush(true);
  if (on_.exchange(false)) close(descriptor_);
}

void ObserverLink::abandon() {
  if (on_.exchange(false)) close(descriptor_);
}

// Appends one message, or counts it as dropped.
template <typename Encode>
bool ObserverLink::put(Encode encode) {
  settle_losses();
  std::size_t bytes = 0;
  if (dropped_ == 0) {
    bytes = encode(std::span(buffer_).subspan(used_));
    if (bytes == 0) {
      flush(true);
      bytes = encode(std::span(buffer_).subspan(used_));
    }
  }
  if (bytes == 0) {
    ++dropped_;
    return false;
  }
  used_ += bytes;
  if (used_ >= options_.buffer_bytes || now() - flushed_ >= flush_every_) {
    flush(false);
  }
  return true;
}

bool ObserverLink::tell_name(Name* name) {
  if (name == nullptr || name->number != 0) return true;
  const auto number = names_told_ + 1;
  const bool told =
      put([&](auto out) { return encode_name(out, number, name->text); });
  if (!told) {
    --dropped_;  // the operator is what was lost, and its caller counts it
    return false;
  }
  name->number = names_told_ = number;
  return true;
}

// While anything was dropped, first of all the Loss must fit; and with it
// half the buffer must be free, so that losses come in a few long runs.
void ObserverLink::settle_losses() {
  if (dropped_ == 0 || now() - flushed_ < kRetryAfter) return;
  flush(false);
  if (!on() || used_ + kLossBytes > buffer_.size() / 2) return;
  const auto bytes = encode_loss(std::span(buffer_).subspan(used_), now(),
                                 "observer", dropped_);
  if (bytes == 0) return;
  used_ += bytes;
  dropped_ = 0;
}

// Sends what the socket takes; with `wait`, all, while patience lasts. What
// stays is kept: a message is never cut in two.
void ObserverLink::flush(bool wait) {
  flushed_ = now();
  if (getpid() != pid_) return abandon();  // forked without pthread_atfork
  std::size_t sent = 0;
  while (sent < used_ && on()) {
    const auto some = send(descriptor_, buffer_.data() + sent, used_ - sent,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some > 0) {
      sent += static_cast<std::size_t>(some);
    } else if (some < 0 && errno == EINTR) {
      continue;
    } else if (some < 0 && errno == EAGAIN) {
      if (!wait || !wait_for_room()) break;
    } else {
      abandon();
    }
  }
  if (sent == 0) return;
  std::memmove(buffer_.data(), buffer_.data() + sent, used_ - sent);
  used_ -= sent;
}

bool ObserverLink::wait_for_room() {
  if (patience_ <= 0) return false;
  const Nanos from = now();
  pollfd room{descriptor_, POLLOUT, 0};
  const auto wait = (patience_ + 999'999) / 1'000'000;
  const int ready = ::poll(&room, 1, static_cast<int>(wait));
  patience_ -= std::max<Nanos>(now() - from, 1);
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace thermocline
