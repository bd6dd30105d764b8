// A file's text on a terminal: without the power to steer it.
#pragma once

#include <string>

namespace thermocline {

inline std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace thermocline
