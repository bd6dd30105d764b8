// expect_refused: an error as a person wants to read it.
//
// One line that says what is wrong, with the thing's name in it and the remedy,
// without a full stop; what tests/daemon/messages_test.py asks of commands.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "traces/result.h"

namespace thermocline {

/// `thing` and `remedy`: parts of the message.
template <typename T>
void expect_refused(const Result<T>& result, const std::string& thing,
                    const std::string& remedy) {
  ASSERT_FALSE(result.has_value()) << thing << ": was not refused";
  const std::string& said = result.error().message;
  EXPECT_NE(said.find(thing), std::string::npos)
      << said << "\n  does not name " << thing;
  EXPECT_NE(said.find(remedy), std::string::npos)
      << said << "\n  lacks the remedy: " << remedy;
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  ASSERT_FALSE(said.empty());
  EXPECT_NE(said.back(), '.') << said;
  // A name may begin with a capital letter, a sentence does not.
  const bool word = std::isupper(static_cast<unsigned char>(said[0])) != 0 &&
                    said.size() > 1 &&
                    std::islower(static_cast<unsigned char>(said[1])) != 0;
  EXPECT_FALSE(word) << said;
}

}  // namespace thermocline
