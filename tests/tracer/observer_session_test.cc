#include "tracer/observer_session.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

// Messages one after the other, as a job sends them.
class Line {
 public:
  template <typename Encode>
  Line& add(Encode encode) {
    std::vector<std::uint8_t> room(kWireMessageBytes);
    room.resize(encode(std::span(room)));
    EXPECT_FALSE(room.empty());
    bytes.insert(bytes.end(), room.begin(), room.end());
    return *this;
  }
  Line& hello() {
    return add([](auto out) { return encode_hello(out, "torch 1.13.1"); });
  }
  Line& name(std::uint32_t number, std::string_view text) {
    return add([&](auto out) { return encode_name(out, number, text); });
  }
  Line& born(ObjectId serial, Address address, Bytes size, Nanos time = 5) {
    const Tensor tensor{serial, address, size, time, -1, ""};
    return add([&](auto out) { return encode_born(out, tensor); });
  }
  Line& died(ObjectId serial, Nanos time = 6) {
    return add([&](auto out) { return encode_died(out, {serial, time}); });
  }
  Line& op(std::uint32_t name, std::vector<ObjectId> reads,
           std::vector<ObjectId> writes) {
    const WireOperator wire{name,  0,     10, 20, 77, Phase::kBackward,
                            reads, writes};
    return add([&](auto out) { return encode_operator(out, wire); });
  }
  Line& goodbye() {
    return add([](auto out) { return encode_goodbye(out); });
  }
  std::vector<std::uint8_t> bytes;
};

struct Heard {
  std::vector<ObserverEvent> events;
  bool good = false;
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& event : events) {
      if (const auto* what = std::get_if<T>(&event.what)) {
        found.push_back(*what);
      }
    }
    return found;
  }
};

Heard hear(const Line& line, std::size_t piece = 1 << 20) {
  ObserverSession session(42);
  Heard heard;
  heard.good = true;
  for (std::size_t at = 0; at < line.bytes.size() && heard.good; at += piece) {
    const auto some = std::min(piece, line.bytes.size() - at);
    heard.good = session.feed({line.bytes.data() + at, some}, heard.events);
  }
  session.finish(99, heard.events);
  return heard;
}

Line typical() {
  Line line;
  line.hello().name(1, "aten::mm").born(1, 0x1000, 64).born(2, 0x2000, 64);
  line.op(1, {1}, {2}).died(1);
  line.add([](auto out) { return encode_figure(out, "pages", 1ull << 63); });
  line.add([](auto out) { return encode_mark(out, 30, "step 1"); });
  line.add([](auto out) { return encode_loss(out, 31, "observer", 7); });
  return line.goodbye();
}

TEST(ObserverSession, WhatIsSentIsHeard) {
  for (const std::size_t piece : {1u, 3u, 1000u}) {
    const auto heard = hear(typical(), piece);
    EXPECT_TRUE(heard.good);
    ASSERT_EQ(heard.events.size(), 9u);
    EXPECT_EQ(heard.events[0].pid, 42);
    EXPECT_EQ(heard.all<ObserverHello>().at(0).framework, "torch 1.13.1");
    EXPECT_EQ(heard.all<Tensor>().at(1), (Tensor{2, 0x2000, 64, 5, -1, ""}));
    const Operator expected{"aten::mm",       "",  10, 20, 77,
                            Phase::kBackward, {1}, {2}};
    EXPECT_EQ(heard.all<Operator>().at(0), expected);
    EXPECT_EQ(heard.all<TensorDied>().at(0).serial, 1u);
    EXPECT_EQ(heard.all<ObserverFigure>().at(0).name, "pages");
    EXPECT_EQ(heard.all<ObserverFigure>().at(0).value, 1ull << 63);
    EXPECT_EQ(heard.all<Mark>().at(0), (Mark{30, "step 1"}));
    EXPECT_EQ(heard.all<Loss>().at(0), (Loss{31, "observer", 7}));
    EXPECT_EQ(heard.all<ObserverGoodbye>().size(), 1u);
  }
}

TEST(ObserverSession, AJobThatWasKilledSaysGoodbyeWithALoss) {
  auto line = typical();
  line.bytes.resize(line.bytes.size() - 15);  // within the job's own Loss
  const auto heard = hear(line);
  EXPECT_TRUE(heard.good);
  EXPECT_EQ(heard.all<ObserverGoodbye>().size(), 1u);
  ASSERT_EQ(heard.all<Loss>().size(), 1u);
  EXPECT_EQ(heard.all<Loss>()[0], (Loss{99, "observer", 1}));
}

TEST(ObserverSession, NonsenseEndsItAndIsALoss) {
  std::vector<Line> wrong(11);
  wrong[0].bytes.assign(40'000, 'G');
  wrong[1].bytes = {0, 0, 0};
  wrong[2].name(1, "before hello");
  wrong[3].hello().hello();
  wrong[4].hello().name(2, "out of order");
  wrong[5].hello().op(1, {}, {});  // a name never told
  wrong[6].hello().born(5, 0x1000, 8).born(5, 0x2000, 8);
  wrong[7].hello().born(5, 0x1000, 8).born(4, 0x2000, 8);
  wrong[8].hello().born(1, ~0ull - 4, 64);  // wraps
  wrong[9].hello();
  wrong[9].bytes.insert(wrong[9].bytes.end(), {1, 0, 99});  // unknown kind
  wrong[10].hello();
  wrong[10].bytes.insert(wrong[10].bytes.end(), {2, 0, 8, 0});  // too long
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const auto heard = hear(wrong[i]);
    EXPECT_FALSE(heard.good) << i;
    EXPECT_EQ(heard.all<Loss>().size(), 1u) << i;
    const auto hellos = heard.all<ObserverHello>().size();
    EXPECT_EQ(heard.all<ObserverGoodbye>().size(), hellos) << i;
  }
}

TEST(ObserverSession, NothingIsHeardAfterGoodbye) {
  const auto heard = hear(Line().hello().goodbye().born(1, 0x1000, 8));
  EXPECT_FALSE(heard.good);
  EXPECT_EQ(heard.events.size(), 2u);
}

TEST(ObserverSession, EveryTruncationAndFlipIsSurvived) {
  const auto whole = typical();
  for (std::size_t i = 0; i < whole.bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bent = whole;
      bent.bytes[i] = static_cast<std::uint8_t>(bent.bytes[i] ^ (1 << bit));
      hear(bent);
      bent.bytes.resize(i);
      hear(bent);
    }
  }
}

TEST(ObserverSession, ALostDeathIsToldWhenItsMemoryIsUsedAgain) {
  Line line;
  line.hello().born(1, 0x1000, 0x100).born(2, 0x1100, 0x100);
  line.born(3, 0x2000, 0x100).born(4, 0x1080, 0x100, 50).died(1).died(4);
  const auto heard = hear(line);
  EXPECT_TRUE(heard.good);
  std::vector<ObjectId> dead;
  for (const auto& died : heard.all<TensorDied>()) dead.push_back(died.serial);
  EXPECT_EQ(dead, (std::vector<ObjectId>{1, 2, 4}));
  EXPECT_EQ(heard.all<TensorDied>().at(0).time, 50);
}

TEST(ObserverSession, OperatorsSpeakOnlyOfTensorsThatWereTold) {
  Line line;
  line.hello().name(1, "aten::add").born(3, 0x1000, 8).born(7, 0x2000, 8);
  line.died(3);  // the dead are known still
  line.op(1, {1, 2, 3, 4, 6, 7, 8}, {0, 5, 7});
  const auto heard = hear(line);
  EXPECT_TRUE(heard.good);
  EXPECT_EQ(heard.all<Operator>().at(0).reads, (std::vector<ObjectId>{3, 7}));
  EXPECT_EQ(heard.all<Operator>().at(0).writes, (std::vector<ObjectId>{7}));
}

TEST(ObserverWire, TextsAndListsAreCutToTheirLimits) {
  Line line;
  line.hello().name(1, std::string(1000, 'x')).born(1, 0x1000, 8);
  line.op(1, std::vector<ObjectId>(5000, 1), {});
  const auto heard = hear(line);
  EXPECT_TRUE(heard.good);
  EXPECT_EQ(heard.all<Operator>().at(0).name, std::string(255, 'x'));
  EXPECT_EQ(heard.all<Operator>().at(0).reads.size(), kWireTensors);
}

TEST(ObserverWire, AMessageThatDoesNotFitIsNotBegun) {
  std::vector<std::uint8_t> room(10, 0xaa);
  EXPECT_EQ(encode_mark(std::span(room).first(4), 1, "too long a name"), 0u);
  std::vector<std::uint8_t> most(kWireMessageBytes);
  const std::vector<ObjectId> list(kWireTensors, ~ObjectId{0});
  const WireOperator op{~0u,  ~0u, INT64_MAX, INT64_MAX, ~0u, Phase::kOptimizer,
                        list, list};
  EXPECT_GT(encode_operator(most, op), 0u);
}

}  // namespace
}  // namespace thermocline
