// ObserverLink: the job's end of the line between a tensor observer and its
// listener.
//
// It knows which allocation is which tensor, gives out serial numbers, and
// tells the listener. It must never harm the job: nothing here waits longer
// than `patience` in all over the job's life; what cannot be sent is counted
// and told later as a Loss; when the listener goes away, the link goes quiet
// for good.
//
// Thread safety: every member may be called from any thread. Invariants:
// (1) serials rise in the order in which they are told; (2) a death is told
// before the memory is given back, and a birth after it was obtained, so that
// the tensors alive at any point of the stream never overlap.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tracer/observer_wire.h"
#include "traces/result.h"

namespace thermocline {

class ObserverLink {
 public:
  struct Options {
    Nanos patience = 1'000'000'000;  // waiting for the listener, in all
    Nanos flush_every = 20'000'000;  // while there is something to tell
    std::size_t buffer_bytes = 64 * 1024;
    int socket_bytes = 4 << 20;  // as far as the system allows
  };
  // A name and its number on the line, given when it is first told.
  struct Name {
    std::string text;
    std::uint32_t number = 0;
  };
  // An operator as the observer sees it; name and layer from intern().
  struct Seen {
    Name* name = nullptr;
    Name* layer = nullptr;  // none: no layer
    Nanos start = 0;
    Nanos end = 0;
    std::uint32_t thread = 0;
    Phase phase = Phase::kUnknown;
    std::span<const ObjectId> reads;
    std::span<const ObjectId> writes;
  };

  /// Connects to the Unix socket `path` and says Hello. Errors: kNotFound
  /// when nobody listens there, kIo otherwise.
  static Result<std::unique_ptr<ObserverLink>> open(const std::string& path,
                                                    std::string_view framework,
                                                    Options options);
  static Result<std::unique_ptr<ObserverLink>> open(
      const std::string& path, std::string_view framework) {
    return open(path, framework, Options());
  }
  ObserverLink(const ObserverLink&) = delete;
  ObserverLink& operator=(const ObserverLink&) = delete;
  ~ObserverLink();  // finish()

  /// False once the listener is gone, or after finish() or abandon(). Cheap.
  bool on() const { return on_.load(std::memory_order_relaxed); }

  /// A tensor was allocated at `memory`. Returns: its serial.
  ObjectId born(const void* memory, Bytes bytes);
  /// The tensor at `memory` is about to be freed; unknown memory is ignored.
  /// Returns: its serial, or 0.
  ObjectId died(const void* memory);
  /// The tensor allocated at `memory`, or 0.
  ObjectId serial_of(const void* memory);

  /// The one Name of this text; lives as long as the link.
  Name* intern(std::string_view text);
  void tell(const Seen& op);
  void mark(Nanos time, std::string_view name);
  /// A number that the observer tells of itself.
  void figure(std::string_view name, std::uint64_t value);
  /// An operator used memory that no allocation of ours is known for (numpy's,
  /// say); the sum is told as a Loss of "observer.foreign" at the end.
  void foreign() { foreign_.fetch_add(1, std::memory_order_relaxed); }

  /// Around fork(), from its handlers: nothing is told in between. A child that
  /// has something to tell connects anew, as a process of its own: it says
  /// which tensors it was born with, under their old serials, and goes on. It
  /// sends everything at once, for children seldom come to their own end
  /// (multiprocessing's leave by _exit). What the parent had not sent yet is
  /// the parent's to send.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void in_child();

  /// Sends what is there, waiting while patience lasts; then Goodbye.
  void finish();
  /// Goes quiet and closes, without telling the listener anything. Takes no
  /// lock.
  void abandon();

  static Nanos now();

 private:
  ObserverLink(std::string path, std::string_view framework, Options options);
  Status connect();  // requires mutex_, as do the next six
  void connect_as_child();
  template <typename Encode>
  bool put(Encode encode);
  bool tell_name(Name* name);
  void settle_losses();
  void flush(bool wait);
  bool wait_for_room();

  const std::string path_;
  const std::string framework_;
  const Options options_;
  Nanos flush_every_;
  int pid_;
  std::atomic<bool> on_{true};
  std::atomic<std::uint64_t> foreign_{0};
  std::mutex mutex_;
  bool newborn_ = false;  // forked, and has told nothing yet
  int descriptor_ = -1;
  Nanos patience_;
  Nanos flushed_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::size_t used_ = 0;
  std::uint64_t dropped_ = 0;
  ObjectId serials_ = 0;
  std::uint32_t names_told_ = 0;
  std::unordered_map<const void*, Tensor> alive_;
  std::unordered_map<std::string, std::unique_ptr<Name>> names_;
};

}  // namespace thermocline
