#include "daemon/top_page.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace thermocline {

using nlohmann::json;

void TopPage::add(std::string line, TopStyle style) {
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  if (line.size() > width_) line.resize(width_);
  lines_.push_back({std::move(line), style});
}

void TopPage::add_wrapped(const std::string& text, std::size_t indent,
                          TopStyle style) {
  std::string rest = text;
  while (rest.size() > width_ && width_ > 2 * indent) {
    auto cut = rest.rfind(' ', width_);
    if (cut == std::string::npos || cut <= indent) cut = width_;
    add(rest.substr(0, cut), style);
    const auto next = rest.find_first_not_of(' ', cut);
    if (next == std::string::npos) return;
    rest = std::string(indent, ' ') + rest.substr(next);
  }
  add(rest, style);
}

void TopPage::append(const TopPage& other) {
  lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
}

json object_of(const std::string& text) {
  auto parsed = json::parse(text, nullptr, false);
  return parsed.is_object() ? parsed : json::object();
}

double number(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_number() ? at->get<double>() : 0;
}

std::string text(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->get<std::string>() : "";
}

json list(const json& from, const char* key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_array() ? *at : json::array();
}

std::string left(std::string what, std::size_t width) {
  what.resize(width, ' ');
  return what;
}

std::string right(std::string what, std::size_t width) {
  if (what.size() > width) what.resize(width);
  return std::string(width - what.size(), ' ') + what;
}

std::string percent(double share) {
  char out[16];
  std::snprintf(out, sizeof out, "%3.0f %%",
                100 * std::clamp(share, 0.0, 99.99));
  return out;
}

std::string show_count(double count) {
  const char* const units[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  while (count >= 999.5 && unit < 4) {
    count /= 1000;
    ++unit;
  }
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 ? "%.0f%s" : "%.1f%s", count,
                units[unit]);
  return out;
}

std::string bar(double share, int length) {
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * length + 0.5);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(length - full), '.') + "]";
}

}  // namespace thermocline
