// RefusedRequests: whose requests over TCP were refused, for the log.
//
// The first of a kind is told at once; those that follow are counted, and told
// with the next that comes a minute or more later. So whoever tries keys, or
// asks too much, is seen, and cannot fill the log.
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/types.h"

namespace thermocline {

class RefusedRequests {
 public:
  enum class Kind : std::uint8_t { kStranger, kTooMany };

  /// One more, by `who`. Returns: the line to log, if it is time for one.
  std::optional<std::string> add(Kind kind, const std::string& who, Nanos now) {
    auto& told = told_[static_cast<std::size_t>(kind)];
    if (told.any && now - told.at < kMinute) {
      ++told.since;
      return std::nullopt;
    }
    std::string line =
        who + " was refused: " +
        (kind == Kind::kStranger ? "it is not on the list of clients"
                                 : "it asks more often than --rate allows");
    if (told.since > 0) {
      line += "; " + std::to_string(told.since) +
              " more were, by whomever, since the last such line";
    }
    told = {true, now, 0};
    return line;
  }

 private:
  static constexpr Nanos kMinute = 60'000'000'000;
  struct Told {
    bool any = false;
    Nanos at = 0;
    std::uint64_t since = 0;
  };
  std::array<Told, 2> told_{};
};

}  // namespace thermocline
