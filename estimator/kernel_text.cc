#include "estimator/kernel_text.h"

#include <fstream>
#include <sstream>

namespace thermocline {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double number_in(const std::filesystem::path& path) {
  std::istringstream text(slurp(path));
  double value = 0;
  text >> value;
  return text ? value : 0;
}

std::vector<int> parse_list(const std::string& text, int limit) {
  std::vector<int> out;
  std::istringstream in(text);
  int low = 0;
  while (in >> low) {
    int high = low;
    if (in.peek() == '-') {
      in.get();
      if (!(in >> high)) break;
    }
    for (int i = low; i <= high && i < limit; ++i) out.push_back(i);
    if (in.get() != ',') break;
  }
  return out;
}

}  // namespace thermocline
