// Guidelines follow from figures: those of an Optane-like tier, made up after
// published measurements, and of one where nothing matters.
#include "daemon/probe_guidelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace thermocline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

OperationFigure figure(const std::string& name, Bytes unit, std::size_t threads,
                       double gb_per_s, double spread = 0.02) {
  std::string title = name;
  if (unit != 0) {
    title += (name == "strided" || name == "persist" ? " by " : " of ") +
             std::to_string(unit) + " B";
  }
  return {title, name, unit, Bytes{1} << 28, threads, {gb_per_s * 1e9, spread}};
}

auto says(const std::string& what, const std::string& evidence = "") {
  return AllOf(Field(&Guideline::what, HasSubstr(what)),
               Field(&Guideline::evidence, HasSubstr(evidence)));
}

PlaceFigures optane() {
  PlaceFigures out{"node 1", true, "", {}};
  for (const auto& [threads, read, write] :
       {std::tuple{1, 2.0, 1.2}, std::tuple{4, 7.0, 2.2},
        std::tuple{16, 7.3, 1.4}}) {
    const auto count = static_cast<std::size_t>(threads);
    out.figures.push_back(figure("reduce", 0, count, read));
    out.figures.push_back(figure("fill around", 0, count, write));
    out.figures.push_back(figure("fill", 0, count, write / 2));
    out.figures.push_back(figure("gather", 64, count, read / 5));
    out.figures.push_back(figure("gather", 256, count, read * 0.8));
    out.figures.push_back(figure("gather", 4096, count, read * 0.9));
    out.figures.push_back(figure("scatter around", 64, count, write / 4));
    out.figures.push_back(figure("scatter around", 256, count, write * 0.9));
    out.figures.push_back(figure("scatter around", 4096, count, write));
    out.figures.push_back(figure("strided", 4096, count, write / 200));
  }
  out.figures.push_back(figure("first touch", 0, 1, 0.3));
  out.figures.push_back(figure("persist", 4096, 1, 0.2));
  out.figures.push_back(figure("persist", 65536, 1, 1.1));
  out.figures.push_back(figure("persist", 1 << 20, 1, 1.2));
  return out;
}

TEST(ProbeGuidelines, SayWhatTheFiguresSay) {
  const auto found = guidelines_of({optane()});
  EXPECT_THAT(found, Contains(says("stores past the caches",
                                   "1.40 GB/s, ordinary 0.70 GB/s")));
  EXPECT_THAT(found, Contains(says("write with at most 4 threads",
                                   "4: 2.20 GB/s, 16: 1.40 GB/s")));
  EXPECT_THAT(found, Contains(says("read with 4 threads; more gain")));
  EXPECT_THAT(found,
              Contains(says("gather rows of 256 B or more", "64 B: 1.46")));
  EXPECT_THAT(found,
              Contains(says("with stores past the caches, write rows of 256 B",
                            "64 B: 0.35 GB/s, 256 B: 1.26 GB/s")));
  EXPECT_THAT(found, Contains(says("column-major", "100 times")));
  EXPECT_THAT(found, Contains(says("instead of taking it anew", "0.30 GB/s")));
  EXPECT_THAT(found,
              Contains(says("write and sync 65536 B or more at a time")));
  for (const auto& one : found) EXPECT_EQ(one.place, "node 1");
}

TEST(ProbeGuidelines, CompareTheSecondPlaceWithTheFirst) {
  auto dram = optane();
  dram.place = "node 0";
  for (auto& one : dram.figures) {
    one.bytes_per_s.median *= one.name == "gather" ? 6 : 2;
  }
  const auto found = guidelines_of({dram, optane()});
  EXPECT_THAT(found, Contains(says("not as in gather", "6.00 times as slow")));
}

TEST(ProbeGuidelines, ChanceIsNoRule) {
  PlaceFigures same{"node 0", false, "", {}};
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    same.figures.push_back(figure("fill", 0, threads, 5, 0.3));
    same.figures.push_back(figure("fill around", 0, threads, 6, 0.3));
    same.figures.push_back(figure("reduce", 0, threads, 6, 0.3));
    same.figures.push_back(figure("gather", 64, threads, 5, 0.3));
    same.figures.push_back(figure("gather", 4096, threads, 5.5, 0.3));
  }
  const auto found = guidelines_of({same});
  EXPECT_THAT(found, Not(Contains(says("stores"))));
  EXPECT_THAT(found, Not(Contains(says("gather"))));
  EXPECT_THAT(guidelines_of({}), testing::IsEmpty());
  EXPECT_THAT(found, Not(Contains(says("fill"))));
  EXPECT_THAT(found, Not(Contains(says("read with"))));
  EXPECT_THAT(found, Not(Contains(says("write with"))));
  // Measured once, a figure is off by nobody knows how much.
  for (auto& one : same.figures) {
    one.bytes_per_s.spread = 0;
    one.bytes_per_s.repeats = 1;
  }
  EXPECT_THAT(guidelines_of({same}), Not(Contains(says("stores"))));
  for (auto& one : same.figures) one.bytes_per_s.repeats = 2;
  EXPECT_THAT(guidelines_of({same}), Contains(says("stores")));
}

TEST(ProbeGuidelines, WhatWasMeasuredOnceBacksNone) {
  auto once = optane();
  once.loaded = {{{0}, {100}}, {{1e9}, {120}}, {{2e9}, {400}}};
  EXPECT_THAT(guidelines_of({once}), Contains(says("below 1.00 GB/s")));
  for (auto& one : once.figures) one.bytes_per_s.repeats = 1;
  for (auto& one : once.loaded) one.read_ns.repeats = 1;
  EXPECT_THAT(guidelines_of({once, once}), testing::IsEmpty());
}

TEST(ProbeGuidelines, LoadThatMayBeChanceIsNoRule) {
  auto found = optane();
  found.loaded = {{{0}, {100, 0.5}}, {{2e9}, {180, 0.5}}};
  EXPECT_THAT(guidelines_of({found}), Not(Contains(says("traffic"))));
}

TEST(ProbeGuidelines, OfTwoPlacesChanceIsNoRule) {
  auto dram = optane(), slow = optane();
  for (auto& one : dram.figures) {
    one.bytes_per_s.median *= one.name == "gather" ? 1.5 : 1;
  }
  const auto against = Contains(says("not as in"));
  EXPECT_THAT(guidelines_of({dram, slow}), against);
  for (auto& one : slow.figures) one.bytes_per_s.spread = 0.5;
  EXPECT_THAT(guidelines_of({dram, slow}), Not(against));
  // As slow in all.
  dram = slow = optane();
  for (auto& one : dram.figures) one.bytes_per_s.median *= 3;
  dram.figures.front().bytes_per_s.median *= 1.05;
  EXPECT_THAT(guidelines_of({dram, slow}), Not(against));
}

TEST(ProbeGuidelines, SayWhetherAPowerCutIsSurvived) {
  auto place = optane();
  const auto says_of = [&](const std::string& part) {
    return Contains(says("write and sync 65536 B or more at a time" + part));
  };
  EXPECT_THAT(guidelines_of({place}), Not(says_of(" (")));
  place.durable = false;
  EXPECT_THAT(guidelines_of({place}), says_of(" (it does not survive"));
  place.unknown = true;
  EXPECT_THAT(guidelines_of({place}), says_of(" (not known to survive"));
}

}  // namespace
}  // namespace thermocline
