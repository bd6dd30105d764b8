#include "agent/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "traces/replace_file.h"

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

// Of a row, in the order of the columns.
void columns(auto& row, auto&& f) {
  f("episode", row.episode);
  f("decisions", row.decisions);
  f("seconds", row.seconds);
  f("loss", row.loss);
  f("mean_return", row.mean_return);
  f("gap_closed", row.gap_closed);
  f("held_out", row.held_out);
}

__attribute__((format(printf, 2, 3))) void print(std::string& out,
                                                 const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  out += text;
}

// Where the curves lie on the page, in pixels.
struct Page {
  double left = 64, right = 700, top = 40, bottom = 330;
  double last = 1;           // episode at the right
  double low = 0, high = 1;  // shares at the bottom and the top

  double x(double episode) const {
    return left + (right - left) * episode / last;
  }
  double y(double share) const {
    return bottom - (bottom - top) * (share - low) / (high - low);
  }
};

Page page_of(const std::vector<Metrics>& rows) {
  Page page;
  for (const Metrics& row : rows) {
    page.last = std::max(page.last, static_cast<double>(row.episode));
    for (const double share : {row.gap_closed, row.held_out}) {
      // A young agent can be far below; what matters is above.
      while (page.low > std::max(share, -1.0)) page.low -= 0.2;
      while (page.high < std::min(share, 2.0)) page.high += 0.2;
    }
  }
  return page;
}

void draw_axes(const Page& page, std::string& out) {
  for (int i = 0; i <= 5; ++i) {
    const double share = page.low + (page.high - page.low) * i / 5;
    const double episode = page.last * i / 5;
    print(out,
          "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" "
          "stroke=\"#ddd\"/>\n<text x=\"%.0f\" y=\"%.1f\" "
          "text-anchor=\"end\">%.0f %%</text>\n",
          page.left, page.y(share), page.right, page.y(share), page.left - 8,
          page.y(share) + 4, share * 100);
    print(out,
          "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f</text>\n",
          page.x(episode), page.bottom + 20, episode);
  }
  print(out,
        "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">episodes</text>\n",
        (page.left + page.right) / 2, page.bottom + 40);
}

void draw_curve(const Page& page, const std::vector<Metrics>& rows,
                double Metrics::*share, const char* colour, const char* name,
                int place, std::string& out) {
  out += "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"";
  out += colour;
  out += "\" points=\"";
  for (const Metrics& row : rows) {
    if (!std::isfinite(row.*share)) continue;
    const double value = std::clamp(row.*share, page.low, page.high);
    print(out, "%.1f,%.1f ", page.x(static_cast<double>(row.episode)),
          page.y(value));
  }
  out += "\"/>\n";
  if (rows.empty()) return;
  print(out, "<text x=\"%.0f\" y=\"%d\" fill=\"%s\">%s: %.1f %%</text>\n",
        page.left + 16, static_cast<int>(page.bottom) - 30 + 18 * place, colour,
        name, rows.back().*share * 100);
}

}  // namespace

std::string metrics_csv(const std::vector<Metrics>& rows) {
  std::string out;
  const Metrics none;
  columns(none, [&](const char* name, auto) {
    out += (out.empty() ? "" : ",") + std::string(name);
  });
  out += '\n';
  for (const Metrics& row : rows) {
    bool first = true;
    columns(row, [&](const char*, auto value) {
      print(out, first ? "%.9g" : ",%.9g", static_cast<double>(value));
      first = false;
    });
    out += '\n';
  }
  return out;
}

std::string metrics_json(const std::vector<Metrics>& rows) {
  Json out = Json::array();
  for (const Metrics& row : rows) {
    Json one;
    columns(row, [&](const char* name, auto value) { one[name] = value; });
    out.push_back(one);
  }
  return out.dump();
}

Result<std::vector<Metrics>> parse_metrics(const std::string& json) {
  const Json all = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  bool right = all.is_array();
  std::vector<Metrics> out;
  for (std::size_t i = 0; right && i < all.size(); ++i) {
    Metrics row;
    columns(row, [&](const char* name, auto& value) {
      right = right && all[i].is_object() && all[i].contains(name) &&
              all[i][name].is_number();
      if (right) all[i][name].get_to(value);
    });
    out.push_back(row);
  }
  if (!right) {
    return corrupt(
        "these are not metrics of a training; train without --resume");
  }
  return out;
}

std::string learning_curve_svg(const std::vector<Metrics>& rows) {
  const Page page = page_of(rows);
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 380\" "
      "width=\"720\" height=\"380\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"720\" height=\"380\" "
      "fill=\"white\"/>\n<text x=\"64\" y=\"24\" font-size=\"14\">share of the "
      "gap from first_touch to all_fast that the agent closes "
      "(estimated)</text>\n";
  draw_axes(page, out);
  draw_curve(page, rows, &Metrics::gap_closed, "#1f77b4", "whole jobs", 0, out);
  draw_curve(page, rows, &Metrics::held_out, "#d62728",
             "windows not trained on", 1, out);
  return out + "</svg>\n";
}

Status write_metrics(const std::string& path,
                     const std::vector<Metrics>& rows) {
  const auto ends_on = [&path](const char* suffix) {
    return path.ends_with(suffix);
  };
  return replace_file(path, ends_on(".json")  ? metrics_json(rows) + "\n"
                            : ends_on(".svg") ? learning_curve_svg(rows)
                                              : metrics_csv(rows));
}

}  // namespace thermocline
