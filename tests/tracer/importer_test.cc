#include "tracer/importer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/tracer/import_bytes.h"

namespace thermocline {
namespace {

TEST(Importer, AFormatIsAFileOfItsName) {
  std::vector<std::string> files;
  for (const auto& [name, entry] : Registry<Importer>::entries()) {
    auto stem = name;
    std::replace(stem.begin(), stem.end(), '-', '_');
    EXPECT_EQ(std::filesystem::path(entry.file).filename(),
              "import_" + stem + ".cc");
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(Registry<Importer>::entries().size(), 5u)
      << "an OBJECT library drops no file";
}

TEST(Importer, WhatIsUnpackedIsBoundedByTheInput) {
  const std::vector<std::uint8_t> bytes(1000);
  const auto in = ImportInput::memory(bytes, "x");
  ImportedTrace out;
  out.spend(ImportedTrace::kBaseBytes + 1000 * ImportedTrace::kBytesPerByte);
  EXPECT_TRUE(out.room(in));
  Mapping mapping;
  mapping.name = "x";
  out.add(mapping);
  const auto room = out.room(in);
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, Error::Code::kUnsupported);
}

TEST(Importer, RefusesUnknownFormatsAndOptions) {
  expect_error(import_text("x"), {"test: not of a known format", "perf-data"});
  expect_error(import_text("x", as_format("csv")), {"csv", "perf-script"});
  expect_error(import_text("x", as_format("damon", "[")), {"JSON"});
  expect_error(import_text("x", as_format("damon", R"({"y": 1})")),
               {"format damon", "\"y\""});
  expect_error(import_text(""), {"not of a known format"});
}

}  // namespace
}  // namespace thermocline
