#include "traces/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string_view>

namespace thermocline {
namespace {

using testing::HasSubstr;

struct Options {
  bool on = true;
  std::int64_t count = 5;
  double fill = 0.5;
  std::string word = "plain";
  void fields(auto& f) {
    f("on", on, "whether at all");
    f("count", count, std::int64_t{1}, std::int64_t{10}, "how many");
    f("fill", fill, 0.0, 1.0, "how full");
    f("word", word, "what to say");
  }
};

struct Wide {
  std::int64_t value = 0;
  void fields(auto& f) {
    f("value", value, std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::int64_t>::max(), "any");
  }
};

Result<Options> read(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return read_options<Options>(json);
}

TEST(Fields, ReadsAllTypesOverTheDefaults) {
  const auto none = read("{}");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->count, 5);
  const auto all = read(R"({"on":false,"count":10,"fill":1,"word":"\u00e9"})");
  ASSERT_TRUE(all);
  EXPECT_FALSE(all->on);
  EXPECT_EQ(all->count, 10);
  EXPECT_EQ(all->fill, 1.0);
  EXPECT_EQ(all->word, "\xc3\xa9");
}

void expect_refused(std::string_view text, const std::string& words) {
  const auto options = read(text);
  ASSERT_FALSE(options) << text;
  EXPECT_EQ(options.error().code, Error::Code::kInvalid);
  EXPECT_THAT(options.error().message, HasSubstr(words));
}

TEST(Fields, AnUnknownOptionIsNamed) {
  expect_refused(R"({"coutn":3})", "unknown option \"coutn\"");
  expect_refused(R"({"fill":0.1,"":1})", "unknown option \"\"");
}

TEST(Fields, AWrongTypeIsNamed) {
  expect_refused(R"({"on":1})", "option \"on\" must be true or false");
  expect_refused(R"({"count":2.5})", "option \"count\" must be an integer");
  expect_refused(R"({"count":"3"})", "option \"count\" must be an integer");
  expect_refused(R"({"fill":true})", "option \"fill\" must be a number");
  expect_refused(R"({"fill":null})", "option \"fill\" must be a number");
  expect_refused(R"({"word":[]})", "option \"word\" must be a string");
  expect_refused("[]", "must be a JSON object");
  expect_refused("null", "must be a JSON object");
}

TEST(Fields, AValueOutsideItsRangeIsNamed) {
  expect_refused(R"({"count":0})", "option \"count\" 0 is outside [1, 10]");
  expect_refused(R"({"count":11})", "outside [1, 10]");
  expect_refused(R"({"fill":1.5})",
                 "option \"fill\" 1.5 is outside [0.0, 1.0]");
  expect_refused(R"({"fill":-1e300})", "outside");
}

// 2^64 - 1 is -1 as an int64, 2^64 + 5 parses as a double.
TEST(Fields, IntegersThatWouldWrapAreRefused) {
  const auto of = [](const char* text) {
    return read_options<Wide>(nlohmann::json::parse(text, nullptr, false));
  };
  EXPECT_FALSE(of(R"({"value":18446744073709551615})"));
  EXPECT_FALSE(of(R"({"value":9223372036854775808})"));
  EXPECT_FALSE(of(R"({"value":18446744073709551621})"));
  EXPECT_EQ(of(R"({"value":-9223372036854775808})")->value,
            std::numeric_limits<std::int64_t>::min());
}

TEST(Fields, NanIsOutsideEveryRange) {
  nlohmann::json json;
  json["fill"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(read_options<Options>(json));
  json["fill"] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(read_options<Options>(json));
}

TEST(Fields, TheFirstProblemIsTold) {
  expect_refused(R"({"count":99,"fill":7,"nonsense":1})", "\"count\"");
}

TEST(Fields, ListsNameDefaultRangeAndHelp) {
  const auto list = list_options<Options>();
  ASSERT_EQ(list.size(), 4);
  EXPECT_EQ(list[0].value, "true");
  EXPECT_EQ(list[0].range, "");
  EXPECT_EQ(list[1].name, "count");
  EXPECT_EQ(list[1].value, "5");
  EXPECT_EQ(list[1].range, "1 to 10");
  EXPECT_EQ(list[2].range, "0.0 to 1.0");
  EXPECT_EQ(list[3].value, "\"plain\"");
  EXPECT_EQ(list[3].help, "what to say");
}

}  // namespace
}  // namespace thermocline
