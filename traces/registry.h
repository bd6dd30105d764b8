// Registry: an interface's implementations by name.
//
// A new policy, sampler or estimator is one new .cc file with one line
//
//   const Register<Policy> kEntry{"name", entry<Policy, Class>("summary")};
//
// in an anonymous namespace. Build such files into OBJECT libraries: a static
// library silently drops files that nobody names.
//
// Thread safety: filled before main() (and by dlopen of a plugin), then read
// only. Invariant: names are unique; a duplicate aborts and names itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct OptionHelp {
  std::string name;
  std::string value;  // the default, as JSON
  std::string range;  // "low to high", or empty
  std::string help;
};

template <typename Interface>
struct Entry {
  std::string summary;  // one sentence
  std::function<Result<std::unique_ptr<Interface>>(const nlohmann::json&)> make;
  std::function<std::vector<OptionHelp>()> options;
  std::string file;  // filled in by Register
};

template <typename Interface>
class Registry {
 public:
  static std::map<std::string, Entry<Interface>>& entries() {
    static std::map<std::string, Entry<Interface>> all;
    return all;
  }

  /// One fresh implementation. Errors: an unknown name (the message lists the
  /// known ones), or options that the implementation refuses.
  static Result<std::unique_ptr<Interface>> make(
      const std::string& kind, const std::string& name,
      const nlohmann::json& options) {
    const auto found = entries().find(name);
    if (found == entries().end()) {
      std::string known;
      for (const auto& [other, unused] : entries()) known += " " + other;
      return not_found("no " + kind + " named \"" + name +
                       "\"; there are:" + known);
    }
    return found->second.make(options).within(kind + " " + name);
  }
};

template <typename Interface>
struct Register {
  Register(const std::string& name, Entry<Interface> what,
           const char* file = __builtin_FILE()) {
    what.file = file;
    auto& all = Registry<Interface>::entries();
    if (const auto at = all.find(name); at != all.end()) {
      std::fprintf(stderr, "%s and %s both register \"%s\"\n",
                   at->second.file.c_str(), file, name.c_str());
      std::abort();
    }
    all.emplace(name, std::move(what));
  }
};

}  // namespace thermocline
