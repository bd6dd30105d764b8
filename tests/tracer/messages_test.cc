// What tracer/ refuses, and how it says so.
#include <gtest/gtest.h>

#include <string_view>

#include "tests/traces/refusal.h"
#include "tracer/habits_file.h"
#include "tracer/importer.h"
#include "tracer/perf_source.h"
#include "tracer/sampler.h"

namespace thermocline {
namespace {

TEST(TracerMessages, OfSourcesOfSamples) {
  struct {
    const char* source;
    int pid;
    const char* thing;
    const char* remedy;
  } const table[] = {
      {"nosuch", 1, "\"nosuch\"", "give perf"},
      {"stream:/no/such/file", 1, "/no/such/file", "check its name"},
      {"stream:/tmp", 1, "/tmp", "give a file"},
      {"perf:page-faults", 0, "perf", "a process or a cgroup"},
      {"perf:cpu-clock@0", 1, "@0", "above 0"},
      {"perf:nosuchevent", 1, "nosuchevent", "perf list"},
      {"perf:mem:0x1001/8:w", 1, "0x1001", "multiple of it"},
      {"pages", 0, "pages", "give its number"},
      {"pages:nosuch", 1, "\"nosuch\"", "soft-dirty"},
  };
  for (const auto& one : table) {
    SCOPED_TRACE(one.source);
    expect_refused(open_sampler(one.source, one.pid), one.thing, one.remedy);
  }
}

Result<Imported> import_text(std::string_view text, const std::string& format,
                             const std::string& options = {}) {
  return import_recording(
      ImportInput::memory(
          {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
          "a.file"),
      {.format = format, .options = options});
}

TEST(TracerMessages, OfFilesToImport) {
  struct {
    const char* text;
    const char* format;
    const char* thing;
    const char* remedy;
  } const table[] = {
      {"hello\n", "", "a.file", "--format"},
      {"hello\n", "nosuch", "\"nosuch\"", "there are:"},
      {"==1== Lackey\n", "lackey", "without one access", "--trace-mem=yes"},
      {"hello hello\n", "perf-script", "a.file", "perf script"},
      {"PERFILE3", "perf-data", "a.file", "copy or record it again"},
      {"{\"a\": 1", "damon", "the JSON is cut", "record it again"},
      {"{] and more", "damon", "not JSON", "check its name"},
      {"[{\"snapshots\": [{}]}]", "damon", "end_time", "damo record"},
      {"{\"nodes\": []}", "execution-trace", "without one node",
       "ExecutionTraceObserver"},
  };
  for (const auto& one : table) {
    SCOPED_TRACE(one.text);
    expect_refused(import_text(one.text, one.format), one.thing, one.remedy);
  }
  expect_refused(import_text("hello\n", "lackey", "{"), "options {",
                 "thermocline list");
  expect_refused(ImportInput::open("/no/such/file"), "/no/such/file",
                 "check its name");
  expect_refused(ImportInput::open("/tmp"), "/tmp", "name a file in it");
}

TEST(TracerMessages, OfProfilesOfTensors) {
  expect_refused(read_habits(""), "empty", "delete the file");
  expect_refused(read_habits("hello\n"), "line 1", "delete the file");
}

}  // namespace
}  // namespace thermocline
