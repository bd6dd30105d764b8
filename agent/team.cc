#include "agent/team.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>

// Debian's LibTorch has Gloo; its headers must be told.
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "traces/libtorch.h"

namespace thermocline {
namespace {

using Store = c10::intrusive_ptr<c10d::Store>;

// LibTorch's messages have a stack trace behind the first line.
std::string first_line(const std::exception& e) {
  const std::string all = e.what();
  return all.substr(0, all.find('\n'));
}

// The values themselves, not a copy.
template <typename T>
torch::Tensor tensor_of(std::span<T> values) {
  return torch::from_blob(values.data(),
                          {static_cast<std::int64_t>(values.size())},
                          c10::CppTypeToScalarType<T>::value);
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

// The address of ours by which others reach us: the one from which the meeting
// place would be called. Connecting a datagram socket sends nothing.
Result<std::string> own_address(const std::string& host, std::uint16_t port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                 &wanted, &found);
  if (code != 0) {
    return not_found("--rendezvous " + host + ": " + ::gai_strerror(code) +
                     "; give a name or an address that all workers know");
  }
  std::string out;
  const int one = ::socket(found->ai_family, SOCK_DGRAM, 0);
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  char name[NI_MAXHOST] = {};
  if (one >= 0 && ::connect(one, found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(one, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, name, sizeof name,
                    nullptr, 0, NI_NUMERICHOST) == 0) {
    out = name;
  }
  if (one >= 0) ::close(one);
  ::freeaddrinfo(found);
  if (out.empty()) {
    return io("--rendezvous " + host +
              " is not reachable from here; give an address of a network that "
              "all workers are on");
  }
  return out;
}

// Gloo's own thread, which hears of messages, tries again and again for a lock
// that we hold while we send. If it interrupts us then, it does so for all of a
// time slice, 3 ms, one exchange in ten. SCHED_BATCH: it does not interrupt; it
// has the processor when we wait.
std::shared_ptr<gloo::transport::Device> device_for(
    const std::string& address) {
  std::shared_ptr<gloo::transport::Device> out;
  std::exception_ptr failed;
  std::thread([&] {
    const sched_param any = {};
    static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &any));
    try {
      out = c10d::ProcessGroupGloo::createDeviceForHostname(address);
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();  // its threads inherit that
  if (failed) std::rethrow_exception(failed);
  return out;
}

Store meet(const Team::Place& place) {
  if (!place.file.empty()) {
    return c10::make_intrusive<c10d::FileStore>(place.file, place.size);
  }
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0;
  options.numWorkers = static_cast<std::size_t>(place.size);
  options.timeout = milliseconds(place.patience_s);
  return c10::make_intrusive<c10d::TCPStore>(place.host, options);
}

}  // namespace

struct Team::Impl {
  Store store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
  Status health;

  // What all members have, folded in the order of their ranks.
  template <typename T, typename Fold>
  Status reduce(std::span<T> values, Fold fold) {
    if (!health) return health;
    const int size = group->getSize();
    const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
    std::vector<std::vector<T>> all(at(size));
    all[at(group->getRank())].assign(values.begin(), values.end());
    try {
      exchange(all);
    } catch (const std::exception& e) {
      health = io("lost the other workers (" + first_line(e) +
                  "); see what they said, and go on with --resume");
      return health;
    }
    std::copy(all[0].begin(), all[0].end(), values.begin());
    for (int rank = 1; rank < size; ++rank) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = fold(values[i], all[at(rank)][i]);
      }
    }
    return {};
  }

  // All send what they have to all: a ring's turns would be fewer bytes, but
  // the few KiB here take no time, and each turn wakes three threads.
  template <typename T>
  void exchange(std::vector<std::vector<T>>& all) {
    std::vector<c10::intrusive_ptr<c10d::Work>> under_way;
    std::vector<torch::Tensor> own{
        tensor_of(std::span(all[static_cast<std::size_t>(group->getRank())]))};
    const auto count = static_cast<std::size_t>(own[0].numel());
    for (int rank = 0; rank < group->getSize(); ++rank) {
      if (rank == group->getRank()) continue;
      auto& of_rank = all[static_cast<std::size_t>(rank)];
      of_rank.resize(count);
      std::vector<torch::Tensor> theirs{tensor_of(std::span(of_rank))};
      under_way.push_back(group->recv(theirs, rank, 0));
      under_way.push_back(group->send(own, rank, 0));
    }
    for (const auto& one : under_way) one->wait();
  }
};

Team::Team(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Team::~Team() = default;

Result<std::unique_ptr<Team>> Team::join(const Place& place) {
  if (place.size < 1 || place.rank < 0 || place.rank >= place.size) {
    return invalid("--rank " + std::to_string(place.rank) +
                   " is not one of the " + std::to_string(place.size) +
                   " of --workers, which begin at 0");
  }
  std::string address = "127.0.0.1";
  if (place.file.empty()) {
    auto own = own_address(place.host, place.port);
    if (!own) return own.error();
    address = *std::move(own);
  }
  auto impl = std::make_unique<Impl>();
  try {
    impl->store = meet(place);
    impl->store->setTimeout(milliseconds(place.patience_s));
    auto options =
        c10d::ProcessGroupGloo::Options::create(milliseconds(place.patience_s));
    options->devices.push_back(device_for(address));
    options->threads = 1;
    impl->group = c10::make_intrusive<c10d::ProcessGroupGloo>(
        impl->store, place.rank, place.size, options);
  } catch (const std::exception& e) {
    return io("worker " + std::to_string(place.rank) + " of " +
              std::to_string(place.size) + " did not find the others" +
              (place.file.empty()
                   ? " at " + place.host + ":" + std::to_string(place.port)
                   : "") +
              " (" + first_line(e) + "); start all of them");
  }
  return std::unique_ptr<Team>(new Team(std::move(impl)));
}

int Team::rank() const { return impl_->group->getRank(); }
int Team::size() const { return impl_->group->getSize(); }
const Status& Team::health() const { return impl_->health; }

Status Team::average(std::span<float> values) {
  auto done = impl_->reduce(values, std::plus<>());
  const auto share = 1.0F / static_cast<float>(size());
  for (float& one : values) one *= share;
  return done;
}

Status Team::sum(std::span<double> values) {
  return impl_->reduce(values, std::plus<>());
}

Status Team::most(std::span<double> values) {
  return impl_->reduce(values,
                       [](double a, double b) { return std::max(a, b); });
}

}  // namespace thermocline
