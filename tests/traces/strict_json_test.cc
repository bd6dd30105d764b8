#include "traces/strict_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace thermocline {
namespace {

std::string refusal(const std::string& text, bool comments = false) {
  const auto read = parse_json(text, comments);
  return read ? "accepted" : read.error().message;
}

std::string nested(int depth) {
  const auto levels = static_cast<std::size_t>(depth);
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(StrictJson, ReadsWhatIsWellFormed) {
  EXPECT_EQ(
      *parse_json(R"({"a": [1, {"a": "b"}, {"a": 2}], "b": null})"),
      nlohmann::json::parse(R"({"a": [1, {"a": "b"}, {"a": 2}], "b": null})"));
  EXPECT_EQ(*parse_json("7 // seven", true), 7);
  EXPECT_EQ(parse_json("7 // seven").error().code, Error::Code::kCorrupt);
}

TEST(StrictJson, SaysWhereAndWhat) {
  EXPECT_EQ(refusal("{\"a\": 1,\n  \"b\" 2}"),
            "2:7: unexpected number literal; expected ':'");
  EXPECT_EQ(refusal("[1,]").substr(0, 5), "1:4: ");
  EXPECT_EQ(refusal("[1] 2"),
            "1:5: unexpected number literal; expected end of input");
  EXPECT_EQ(refusal(" \n "), "2:1: empty");
  EXPECT_EQ(refusal("[\"\xff\x1b[31m\"]"),
            "1:3: invalid string: ill-formed UTF-8 byte");
  EXPECT_NE(refusal("[1e999]").find("too large"), std::string::npos);
}

TEST(StrictJson, AKeyIsThereOnce) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"),
            R"(key "a" is there twice; keep one)");
  EXPECT_EQ(refusal(R"({"b": [{"c": {"d": 1, "d": 2}}]})"),
            R"(key "d" is there twice; keep one)");
  EXPECT_EQ(refusal(R"({"a": {"b": 1}, "b": {"a": 1, "b": 2}})"), "accepted");
  EXPECT_EQ(refusal("{\"\\u0061\": 1, \"a\": 1}"),
            R"(key "a" is there twice; keep one)");
}

TEST(StrictJson, IsNotNestedWithoutEnd) {
  EXPECT_EQ(refusal(nested(kDeepestJson)), "accepted");
  const std::string deep = "nested more than 32 deep";
  EXPECT_EQ(refusal(nested(kDeepestJson + 1)), deep);
  EXPECT_EQ(refusal(nested(2'000'000)), deep);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(refusal(objects + "1" + std::string(100'000, '}')), deep);
  EXPECT_EQ(refusal(objects), deep) << "and cut";
}

}  // namespace
}  // namespace thermocline
