#include "traces/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces/fields.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

class Animal {
 public:
  virtual ~Animal() = default;
  virtual std::int64_t legs() const = 0;
};

class Spider final : public Animal {
 public:
  struct Options {
    std::int64_t legs = 8;
    void fields(auto& f) {
      f("legs", legs, std::int64_t{0}, std::int64_t{8}, "those it still has");
    }
  };
  static Result<std::unique_ptr<Animal>> make(Options options) {
    if (options.legs == 7) return invalid("an odd spider");
    return std::unique_ptr<Animal>(new Spider(options));
  }
  std::int64_t legs() const override { return options_.legs; }

 private:
  explicit Spider(Options options) : options_(options) {}
  Options options_;
};

const Register<Animal> kSpider{"spider", entry<Animal, Spider>("Has legs.")};
const Register<Animal> kSnake{
    "snake",
    {"Has none.",
     [](const nlohmann::json&) {
       return Result<std::unique_ptr<Animal>>(unsupported("no legs"));
     },
     nullptr, ""}};

auto make(const std::string& name, const nlohmann::json& options) {
  return Registry<Animal>::make("animal", name, options);
}

TEST(Registry, MakesByNameWithOptions) {
  EXPECT_EQ((*make("spider", nlohmann::json::object()))->legs(), 8);
  EXPECT_EQ((*make("spider", {{"legs", 6}}))->legs(), 6);
}

TEST(Registry, AnUnknownNameListsTheKnownOnes) {
  const auto made = make("horse", nlohmann::json::object());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Error::Code::kNotFound);
  EXPECT_EQ(made.error().message,
            "no animal named \"horse\"; there are: snake spider");
}

TEST(Registry, ErrorsNameTheImplementation) {
  EXPECT_EQ(make("spider", {{"legs", 9}}).error().message,
            "animal spider: option \"legs\" 9 is outside [0, 8]");
  EXPECT_EQ(make("spider", {{"legs", 7}}).error().message,
            "animal spider: an odd spider");
  EXPECT_EQ(make("snake", nlohmann::json::object()).error().message,
            "animal snake: no legs");
}

TEST(Registry, EntriesKnowTheirFileAndOptions) {
  const auto& spider = Registry<Animal>::entries().at("spider");
  EXPECT_THAT(spider.file, HasSubstr("registry_test.cc"));
  EXPECT_EQ(spider.summary, "Has legs.");
  EXPECT_EQ(spider.options().at(0).range, "0 to 8");
}

TEST(RegistryDeathTest, ADuplicateAbortsAndNamesItself) {
  EXPECT_DEATH(
      Register<Animal>("spider", entry<Animal, Spider>("Another.")),
      "registry_test.cc and .*registry_test.cc both register \"spider\"");
}

}  // namespace
}  // namespace thermocline
