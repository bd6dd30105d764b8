// The parts of the pages, built into the program by CMake from
// daemon/page/ and Debian's node-d3.
#pragma once

#include <string_view>

namespace thermocline {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageLicence;
extern const std::string_view kPageLibrary;
extern const std::string_view kPageScript;
extern const std::string_view kProbeHtml;
extern const std::string_view kProbeScript;

}  // namespace thermocline
