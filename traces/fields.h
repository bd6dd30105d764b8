// Options structs that read themselves from JSON, strictly, and print their
// own help.
//
// A struct lists its options once:
//
//   struct Options {
//     double fill = 1.0;
//     void fields(auto& f) {
//       f("fill", fill, 0.0, 1.0, "fraction of the fast tier to use");
//     }
//   };
//
// and this file derives from the list: reading (an unknown key, a wrong type
// or a value outside its range is an error that names it), and a description
// for `thermocline list` and --help. Types: bool, std::int64_t, double,
// std::string. Includes json.hpp: include it from a .cc file only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "traces/registry.h"
#include "traces/result.h"

namespace thermocline {

class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& from) : from_(from) {}

  void operator()(const char* name, bool& value, const char*) {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) return fail(name, "must be true or false");
    value = found->get<bool>();
  }
  void operator()(const char* name, std::string& value, const char*) {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (!found->is_string()) return fail(name, "must be a string");
    value = found->get<std::string>();
  }
  void operator()(const char* name, std::int64_t& value, std::int64_t low,
                  std::int64_t high, const char*) {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (!found->is_number_integer()) return fail(name, "must be an integer");
    // get<> would wrap a number of 2^63 or more to a negative one.
    if (found->is_number_unsigned() &&
        !std::in_range<std::int64_t>(found->get<std::uint64_t>())) {
      return fail(name, found->dump() + " is too large");
    }
    number(name, value, found->get<std::int64_t>(), low, high);
  }
  void operator()(const char* name, double& value, double low, double high,
                  const char*) {
    const auto* found = find(name);
    if (found == nullptr) return;
    if (!found->is_number()) return fail(name, "must be a number");
    number(name, value, found->get<double>(), low, high);
  }

  /// The first problem met, or one for the first key that no field has asked
  /// for.
  Status finish() const {
    if (!error_.empty()) return invalid(error_);
    for (const auto& [key, unused] : from_.items()) {
      bool known = false;
      for (const auto& name : known_) known = known || name == key;
      if (!known) return invalid("unknown option \"" + key + "\"");
    }
    return {};
  }

 private:
  const nlohmann::json* find(const char* name) {
    known_.emplace_back(name);
    const auto at = from_.find(name);
    return at == from_.end() ? nullptr : &*at;
  }
  template <typename T>
  void number(const char* name, T& value, T given, T low, T high) {
    // Written so that NaN fails as well.
    if (!(given >= low && given <= high)) {
      return fail(name, nlohmann::json(given).dump() + " is outside [" +
                            nlohmann::json(low).dump() + ", " +
                            nlohmann::json(high).dump() + "]");
    }
    value = given;
  }
  void fail(const char* name, const std::string& why) {
    if (error_.empty()) error_ = "option \"" + std::string(name) + "\" " + why;
  }

  const nlohmann::json& from_;
  std::vector<std::string> known_;
  std::string error_;
};

class FieldLister {
 public:
  void operator()(const char* name, bool value, const char* help) {
    out.push_back({name, value ? "true" : "false", "", help});
  }
  void operator()(const char* name, const std::string& value,
                  const char* help) {
    out.push_back({name, nlohmann::json(value).dump(), "", help});
  }
  template <typename T>
  void operator()(const char* name, T value, T low, T high, const char* help) {
    out.push_back(
        {name, nlohmann::json(value).dump(),
         nlohmann::json(low).dump() + " to " + nlohmann::json(high).dump(),
         help});
  }
  std::vector<OptionHelp> out;
};

/// Options read from a JSON object over their defaults.
template <typename Options>
Result<Options> read_options(const nlohmann::json& from) {
  if (!from.is_object()) return invalid("options must be a JSON object");
  Options options;
  FieldReader reader(from);
  options.fields(reader);
  if (auto status = reader.finish(); !status) return status.error();
  return options;
}

/// Every option of the struct with its default, range and help.
template <typename Options>
std::vector<OptionHelp> list_options() {
  Options options;
  FieldLister lister;
  options.fields(lister);
  return lister.out;
}

/// An Entry that constructs `Implementation` from its `Options`.
template <typename Interface, typename Implementation>
Entry<Interface> entry(std::string summary) {
  using Options = typename Implementation::Options;
  return {std::move(summary),
          [](const nlohmann::json& json) -> Result<std::unique_ptr<Interface>> {
            auto options = read_options<Options>(json);
            if (!options) return options.error();
            return Implementation::make(*std::move(options));
          },
          &list_options<Options>, ""};
}

}  // namespace thermocline
