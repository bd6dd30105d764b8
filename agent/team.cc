#include "agent/team.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

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

  Status reduce(torch::Tensor values, c10d::ReduceOp how) {
    if (!health) return health;
    try {
      std::vector<torch::Tensor> all{std::move(values)};
      c10d::AllreduceOptions options;
      options.reduceOp = how;
      group->allreduce(all, options)->wait();
    } catch (const std::exception& e) {
      health = io("lost the other workers (" + first_line(e) +
                  "); see what they said, and go on with --resume");
    }
    return health;
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
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(address));
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
  auto done = impl_->reduce(tensor_of(values), c10d::ReduceOp::SUM);
  const auto share = 1.0F / static_cast<float>(size());
  for (float& one : values) one *= share;
  return done;
}

Status Team::sum(std::span<double> values) {
  return impl_->reduce(tensor_of(values), c10d::ReduceOp::SUM);
}

Status Team::most(std::span<double> values) {
  return impl_->reduce(tensor_of(values), c10d::ReduceOp::MAX);
}

}  // namespace thermocline
