#include "daemon/report_page.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/page_parts.h"
#include "traces/result.h"

namespace thermocline {
namespace {

void fill(std::string& page, std::string_view slot, std::string_view with) {
  const auto at = page.find(slot);
  CHECK(at != std::string::npos);
  page.replace(at, slot.size(), with);
}

// JSON that can stand in a script element: no "<" of its own.
std::string embeddable(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string page_of(std::string_view html, std::string_view script,
                    const nlohmann::ordered_json& data) {
  std::string page(html);
  // The data last: it may hold text that looks like a slot.
  fill(page, "/*STYLE*/", kPageCss);
  fill(page, "LICENCE", kPageLicence);
  fill(page, "/*LIBRARY*/", kPageLibrary);
  fill(page, "/*SCRIPT*/", script);
  fill(page, "/*DATA*/", embeddable(data));
  return page;
}

}  // namespace

std::string report_page(const nlohmann::ordered_json& data) {
  return page_of(kPageHtml, kPageScript, data);
}

std::string probe_page(const nlohmann::ordered_json& data) {
  return page_of(kProbeHtml, kProbeScript, data);
}

}  // namespace thermocline
