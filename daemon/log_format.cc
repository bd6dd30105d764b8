#include "daemon/log_format.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace thermocline {
namespace {

// "<6>": the priority of syslog.
class Priority final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view text = of(message.level);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }

 private:
  static std::string_view of(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::critical: return "<2>";
      case spdlog::level::err: return "<3>";
      case spdlog::level::warn: return "<4>";
      case spdlog::level::info: return "<6>";
      default: return "<7>";
    }
  }
};

// Programs that a service started inherit the variable, not the stream.
bool leads_to_journal(int descriptor, const char* journal_stream) {
  struct stat about = {};
  return journal_stream != nullptr && ::fstat(descriptor, &about) == 0 &&
         std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino) ==
             journal_stream;
}

}  // namespace

void set_up_log(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("thermoclined"));
  if (leads_to_journal(STDERR_FILENO, std::getenv("JOURNAL_STREAM"))) {
    auto format = std::make_unique<spdlog::pattern_formatter>();
    format->add_flag<Priority>('*').set_pattern("%*%v");
    spdlog::set_formatter(std::move(format));
  }
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace thermocline
