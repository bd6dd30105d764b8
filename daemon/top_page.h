// TopPage: lines of one width for `thermocline top`, and what tables are made
// of. Thread safety: plain values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/top_view.h"

namespace thermocline {

class TopPage {
 public:
  explicit TopPage(int width) : width_(static_cast<std::size_t>(width)) {}

  /// Cut to the width; what could steer a terminal is replaced.
  void add(std::string line, TopStyle style = TopStyle::kPlain);
  /// Broken between words where it is too long; what follows the first line
  /// is indented.
  void add_wrapped(const std::string& text, std::size_t indent, TopStyle style);
  void append(const TopPage& other);

  /// Too narrow for columns that can be done without.
  bool narrow() const { return width_ < 110; }
  const std::vector<TopLine>& lines() const { return lines_; }
  int size() const { return static_cast<int>(lines_.size()); }

 private:
  std::size_t width_;
  std::vector<TopLine> lines_;
};

// Of a service's answer, which may lack anything.
nlohmann::json object_of(const std::string& text);
double number(const nlohmann::json& from, const char* key);
std::string text(const nlohmann::json& from, const char* key);
nlohmann::json list(const nlohmann::json& from, const char* key);

/// Exactly `width` bytes; cut, or filled with blanks.
std::string left(std::string what, std::size_t width);
std::string right(std::string what, std::size_t width);
std::string percent(double share);
/// "123", "12.3k", "4.5M"
std::string show_count(double count);
/// [####....], `length` of them.
std::string bar(double share, int length);

}  // namespace thermocline
