#include "tracer/observer_link.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/tracer/observed_job.h"

namespace thermocline {
namespace {

const void* at(Address address) {
  return reinterpret_cast<const void*>(address);
}

class Link : public testing::Test {
 protected:
  Link() : path_(scratch_path("link")), server_(listen()) {}
  std::unique_ptr<ObserverServer> listen() {
    auto made = ObserverServer::listen(path_);
    EXPECT_TRUE(made) << made.error().message;
    return std::make_unique<ObserverServer>(*std::move(made));
  }
  std::unique_ptr<ObserverLink> open(ObserverLink::Options options = {}) {
    auto made = ObserverLink::open(path_, "test", options);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  template <typename T>
  std::vector<T> all() {
    std::vector<T> found;
    for (const auto& event : heard_) {
      if (const auto* what = std::get_if<T>(&event.what)) {
        found.push_back(*what);
      }
    }
    return found;
  }
  void hear() {
    for (bool more = true; more;) {
      pollfd ready{server_->descriptor(), POLLIN, 0};
      more = ::poll(&ready, 1, 0) > 0;
      poll();
    }
  }
  void poll() {
    server_->poll(
        [this](const ObserverEvent& event) { heard_.push_back(event); });
  }
  std::string path_;
  std::unique_ptr<ObserverServer> server_;
  std::vector<ObserverEvent> heard_;
};

TEST_F(Link, TellsWhatHappens) {
  auto link = open();
  EXPECT_EQ(link->born(at(0x1000), 64), 1u);
  EXPECT_EQ(link->born(at(0x2000), 64), 2u);
  EXPECT_EQ(link->serial_of(at(0x2000)), 2u);
  EXPECT_EQ(link->serial_of(at(0x2001)), 0u);
  const std::vector<ObjectId> reads{1}, writes{2};
  auto* const name = link->intern("aten::mm");
  EXPECT_EQ(link->intern("aten::mm"), name);
  link->tell(
      {name, link->intern("layer"), 5, 9, 1, Phase::kForward, reads, writes});
  EXPECT_EQ(link->died(at(0x1000)), 1u);
  EXPECT_EQ(link->died(at(0x7777)), 0u);
  link->figure("pages", 7);
  EXPECT_EQ(link->serial_of(at(0x1000)), 0u);
  EXPECT_EQ(link->born(at(0x1000), 32), 3u) << "an address is no identity";
  link->mark(11, "step 1");
  link->foreign();
  link.reset();
  hear();
  EXPECT_EQ(all<Tensor>().size(), 3u);
  EXPECT_EQ(all<TensorDied>().size(), 1u);
  const Operator expected{"aten::mm", "layer",         5,   9,
                          1,          Phase::kForward, {1}, {2}};
  EXPECT_EQ(all<Operator>().at(0), expected);
  EXPECT_EQ(all<Mark>().at(0).name, "step 1");
  EXPECT_EQ(all<ObserverFigure>().at(0).value, 7u);
  EXPECT_EQ(all<Loss>().at(0).source, "observer.foreign");
  EXPECT_EQ(all<ObserverGoodbye>().size(), 1u);
  for (const auto& event : heard_) EXPECT_EQ(event.pid, getpid());
}

TEST_F(Link, ASlowListenerCostsABoundedWaitAndIsToldTheLoss) {
  auto link = open({.patience = 20'000'000, .socket_bytes = 64 * 1024});
  hear();
  constexpr std::uint64_t kMarks = 100'000;
  for (std::uint64_t i = 0; i < kMarks; ++i) link->mark(1, "a mark of words");
  EXPECT_TRUE(link->on());
  hear();
  EXPECT_LT(all<Mark>().size(), kMarks);
  // With room again, the loss is told before anything new.
  heard_.clear();
  for (int i = 0; i < 10; ++i) {
    usleep(2000);
    link->mark(2, "afterwards");
    hear();
  }
  link.reset();
  hear();
  ASSERT_GE(all<Loss>().size(), 1u);
  EXPECT_GT(all<Loss>()[0].count, kMarks / 10);
  EXPECT_GT(all<Mark>().size(), 0u);
  EXPECT_EQ(all<ObserverGoodbye>().size(), 1u);
}

TEST_F(Link, EverythingIsEitherHeardOrCounted) {
  auto link = open({.patience = 0, .socket_bytes = 64 * 1024});
  constexpr std::uint64_t kMarks = 100'000;
  for (std::uint64_t i = 0; i < kMarks; ++i) {
    link->mark(1, "a mark of words");
    if (i % 40'000 == 0) hear();
  }
  for (int i = 0; i < 10; ++i) {
    hear();
    usleep(2000);  // a link that has dropped asks again only after a while
    link->mark(1, "a mark of words");
  }
  link.reset();
  hear();
  std::uint64_t lost = 0;
  for (const auto& loss : all<Loss>()) lost += loss.count;
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(all<Mark>().size() + lost, kMarks + 10);
}

TEST_F(Link, GoesQuietWhenTheListenerDies) {
  auto link = open();
  server_.reset();
  for (int i = 0; i < 100'000 && link->on(); ++i) link->mark(1, "mark");
  EXPECT_FALSE(link->on());  // and no SIGPIPE has killed us
  EXPECT_EQ(link->born(at(0x1000), 8), 0u);
  link->finish();
}

TEST_F(Link, AForkedChildWritesNothing) {
  auto link = open();
  link->mark(1, "parent");
  const int child = fork();
  if (child == 0) {
    // Also without pthread_atfork: the pid tells.
    for (int i = 0; i < 10'000; ++i) link->mark(2, "child");
    _exit(link->on() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  link->mark(3, "parent");
  link.reset();
  hear();
  for (const auto& mark : all<Mark>()) EXPECT_EQ(mark.name, "parent");
  EXPECT_EQ(all<Mark>().size(), 2u);
}

TEST_F(Link, AForkedChildGoesOnAsAProcessOfItsOwn) {
  auto link = open();
  link->born(at(0x1000), 64);
  link->born(at(0x2000), 64);
  link->died(at(0x1000));
  const std::vector<ObjectId> reads{2};
  auto* const name = link->intern("aten::mm");
  link->tell({name, nullptr, 1, 2, 1, Phase::kForward, reads, {}});
  link->before_fork();
  const int child = fork();
  if (child == 0) {
    link->in_child();
    const auto serial = link->born(at(0x3000), 64);
    link->tell({name, nullptr, 3, 4, 1, Phase::kForward, reads, {}});
    _exit(link->on() && serial == 3 ? 0 : 1);  // without a word
  }
  link->after_fork();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  link->before_fork();
  const int idle = fork();
  if (idle == 0) {
    link->in_child();
    link.reset();
    _exit(0);
  }
  link->after_fork();
  waitpid(idle, &status, 0);
  link.reset();
  hear();
  std::vector<ObjectId> born;
  std::size_t operators = 0;
  for (const auto& event : heard_) {
    EXPECT_NE(event.pid, idle) << "it has done nothing";
    if (event.pid != child) continue;
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      born.push_back(tensor->serial);
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      ++operators;
      EXPECT_EQ(op->name, "aten::mm");
      EXPECT_EQ(op->reads, reads);
    }
  }
  EXPECT_EQ(born, (std::vector<ObjectId>{2, 3})) << "the living, then its own";
  EXPECT_EQ(operators, 1u);
  EXPECT_EQ(all<Operator>().size(), 2u);
}

TEST_F(Link, ManyThreadsTellOneConsistentStory) {
  auto link = open({.patience = 10'000'000'000});
  std::vector<std::thread> threads;
  for (Address base = 1; base <= 4; ++base) {
    threads.emplace_back([&link, base] {
      auto* const name = link->intern("op");
      for (Address i = 0; i < 2000; ++i) {
        const auto* const memory = at(base << 32 | (i % 7) << 12);
        const std::vector<ObjectId> serial{link->born(memory, 4096)};
        link->tell({name,
                    nullptr,
                    1,
                    2,
                    static_cast<std::uint32_t>(base),
                    Phase::kForward,
                    serial,
                    {}});
        link->died(memory);
      }
    });
  }
  std::atomic<bool> done{false};
  std::thread listener([&] {
    while (!done) {
      pollfd ready{server_->descriptor(), POLLIN, 0};
      ::poll(&ready, 1, 5);
      poll();
    }
  });
  for (auto& thread : threads) thread.join();
  link.reset();
  done = true;
  listener.join();
  hear();
  EXPECT_EQ(all<Tensor>().size(), 8000u);
  EXPECT_EQ(all<TensorDied>().size(), 8000u);
  EXPECT_EQ(all<Loss>().size(), 0u);
  for (const auto& op : all<Operator>()) EXPECT_EQ(op.reads.size(), 1u);
}

TEST_F(Link, TheServersSocketIsItsOwnersAlone) {
  struct stat what {};
  ASSERT_EQ(stat(path_.c_str(), &what), 0);
  EXPECT_EQ(what.st_mode & 0777, 0600u);
  const auto second = ObserverServer::listen(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Error::Code::kIo);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
  server_.reset();
  EXPECT_NE(stat(path_.c_str(), &what), 0) << "removed with the server";
  const auto nobody = ObserverLink::open(path_, "test");
  EXPECT_EQ(nobody.error().code, Error::Code::kNotFound);
  server_ = listen();
}

TEST_F(Link, OnlyASocketThatNobodyHoldsIsReplaced) {
  server_.reset();
  if (const int child = fork(); child == 0) {
    const auto left = ObserverServer::listen(path_);
    _exit(left ? 0 : 1);  // as if killed: the socket stays
  } else {
    waitpid(child, nullptr, 0);
  }
  ASSERT_EQ(access(path_.c_str(), F_OK), 0);
  server_ = listen();
  server_.reset();
  std::ofstream(path_) << "somebody's file";
  EXPECT_FALSE(ObserverServer::listen(path_));
  EXPECT_EQ(read_whole(path_), "somebody's file");
  unlink(path_.c_str());
  const auto longer = ObserverServer::listen("/tmp/" + std::string(107, 'x'));
  EXPECT_EQ(longer.error().code, Error::Code::kIo);
  EXPECT_NE(longer.error().message.find("107"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
