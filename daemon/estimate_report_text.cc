#include <algorithm>
#include <cmath>

#include "daemon/estimate_report.h"
#include "daemon/printable.h"
#include "daemon/units.h"

namespace thermocline {
namespace {

std::string seconds(double ns) {
  return ns < 0 ? "-" + show_seconds(-ns * 1e-9) : show_seconds(ns * 1e-9);
}

std::string bytes(Bytes count) {
  return show_bytes(static_cast<double>(count));
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", share * 100);
  return text;
}

double share(double part, double whole) {
  return whole != 0 ? part / whole : 0;
}

// The end of a long path says more than its beginning.
std::string shortened(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return "..." + text.substr(text.size() - (width - 3));
}

class Printer {
 public:
  Printer(const EstimateReport& report, std::FILE* to)
      : report_(report),
        made_(report.input.differential),
        fast_name_(made_.machine().tiers.front().name),
        slow_name_(made_.machine().tiers.back().name),
        to_(to) {}

  void print() {
    std::fprintf(to_, "%s\n", printable(made_.job()).c_str());
    line("machine",
         made_.machine().name + (made_.machine().emulated ? ", emulated" : ""));
    endpoint("all slow", slow_name_, made_.slow_ns(), report_.files.slow);
    tiers_between();
    endpoint("all fast", fast_name_, made_.fast_ns(), report_.files.fast);
    line("memory", bytes(report_.memory.total) + ", samples on pages of " +
                       bytes(report_.memory.sampled));
    line("asked", report_.title);
    for (const auto& note : report_.input.notes) line("note", note);
    std::fprintf(to_, "\n");
    if (report_.detailed) {
      details(report_.rows.front());
    } else {
      table();
    }
  }

 private:
  void line(const char* name, const std::string& value) {
    std::fprintf(to_, "  %-9s %s\n", name, printable(value).c_str());
  }
  void endpoint(const char* name, const std::string& tier, double ns,
                const std::string& file) {
    line(name, seconds(ns) + " with all in " + tier +
                   (file.empty() ? ": MODELLED from the machine, not measured"
                                 : ", measured (" + file + ")"));
  }
  void tiers_between() {
    for (auto t = static_cast<TierId>(made_.machine().tiers.size() - 1);
         --t > 0;) {
      double ns = 0;
      for (std::size_t w = 0; w < made_.windows(); ++w) {
        ns += made_.tier_ns(w, t);
      }
      const auto& name = made_.machine().tiers[t].name;
      const auto& files = report_.input.other_files;
      const auto file = files.find(t);
      line("all", seconds(ns) + " with all in " + name +
                      (file != files.end()
                           ? ", measured (" + file->second + ")"
                           : ": MODELLED, between its neighbours by latency"));
    }
  }
  std::string faster(double ns) const {
    char text[64];
    std::snprintf(text, sizeof text, "%.2fx", share(made_.slow_ns(), ns));
    return text;
  }

  void table() {
    std::size_t width = 9;
    for (const auto& row : report_.rows) {
      width =
          std::max(width, std::min<std::size_t>(row.placement.name.size(), 40));
    }
    const int name = static_cast<int>(width);
    std::fprintf(to_, "  %-*s %11s %11s %10s %11s %7s %10s\n", name,
                 "placement", ("in " + fast_name_).substr(0, 11).c_str(),
                 "time", "+-", "saved", "speed", "modelled");
    for (const auto& row : report_.rows) {
      std::fprintf(
          to_, "  %-*s %11s %11s %10s %11s %7s %10s%s\n", name,
          shortened(printable(row.placement.name), width).c_str(),
          bytes(row.placement.bytes_by_tier.front()).c_str(),
          seconds(row.breakdown.ns).c_str(),
          row.breakdown.error_ns ? seconds(*row.breakdown.error_ns).c_str()
                                 : "?",
          seconds(made_.slow_ns() - row.breakdown.ns).c_str(),
          faster(row.breakdown.ns).c_str(),
          seconds(row.breakdown.modelled_ns).c_str(),
          row.doubt.empty() ? "" : ("  " + printable(row.doubt)).c_str());
    }
    std::fprintf(
        to_,
        "\n  +-: held nine of ten where it was calibrated, fewer on other "
        "programs.\n  speed: against all in %s. modelled: "
        "distance to the "
        "nearest measured time.\n",
        slow_name_.c_str());
  }

  void details(const EstimateRow& row) {
    const Breakdown& breakdown = row.breakdown;
    line("estimate", seconds(breakdown.ns) + ", " + faster(breakdown.ns) +
                         " as fast as all in " + slow_name_ + ", saves " +
                         seconds(made_.slow_ns() - breakdown.ns));
    line("error bar",
         breakdown.error_ns
             ? "+- " + seconds(*breakdown.error_ns) +
                   ": held nine of ten where it was calibrated, fewer on other "
                   "programs"
             : "none: an endpoint is modelled, and how wrong that is nobody "
               "knows");
    line("modelled", breakdown.modelled_ns == 0
                         ? "nothing: all windows are at a measured time"
                         : seconds(breakdown.modelled_ns) +
                               ": the distance to the nearest measured time");
    std::string where;
    const auto& tiers = made_.machine().tiers;
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      where += (t == 0 ? "" : ", ") + bytes(row.placement.bytes_by_tier[t]) +
               " in " + tiers[t].name;
    }
    line("placed", where);
    if (row.placement.moved_bytes > 0) {
      line("moves", bytes(row.placement.moved_bytes) + " to get there, about " +
                        seconds(row.placement.move_ns) +
                        " once, not in the estimate");
    }
    if (breakdown.moved_bytes > 0) {
      line("migrates", bytes(breakdown.moved_bytes) +
                           " while it runs; of the estimate, modelled: " +
                           seconds(breakdown.waited_ns) + " of waiting, " +
                           seconds(breakdown.interference_ns) +
                           " of interference");
    }
    if (!row.doubt.empty()) line("doubt", row.doubt);
    phases(breakdown);
    objects(breakdown);
  }

  void phases(const Breakdown& breakdown) {
    std::fprintf(to_, "\n  %-24s %11s %11s %11s\n", "phase",
                 ("all " + slow_name_).substr(0, 11).c_str(), "estimate",
                 ("all " + fast_name_).substr(0, 11).c_str());
    for (std::size_t p = 0; p < report_.phases.size(); ++p) {
      const auto& phase = breakdown.phases[p];
      std::fprintf(to_, "  %-24s %11s %11s %11s\n",
                   shortened(printable(report_.phases[p].name), 24).c_str(),
                   seconds(phase.slow_ns).c_str(), seconds(phase.ns).c_str(),
                   seconds(phase.fast_ns).c_str());
    }
  }

  // "dram", or "62 % dram"
  std::string tier_of(const Breakdown::Object& object) const {
    const auto& tiers = made_.machine().tiers;
    const auto most =
        std::max_element(object.in_tier.begin(), object.in_tier.end());
    const auto& name =
        tiers[static_cast<std::size_t>(most - object.in_tier.begin())].name;
    return *most > 0.9995 ? name : percent(*most) + " " + name;
  }

  void object_line(const std::string& name, const std::string& size,
                   const std::string& tier, double cost, double slow) {
    std::fprintf(to_, "  %-34s %10s %-14s %11s %11s\n",
                 shortened(printable(name), 34).c_str(), size.c_str(),
                 tier.c_str(), seconds(cost).c_str(), seconds(slow).c_str());
  }

  void objects(const Breakdown& breakdown) {
    std::fprintf(to_, "\n  %-34s %10s %-14s %11s %11s\n", "object", "size",
                 "lies in", "costs now",
                 ("in " + slow_name_).substr(0, 11).c_str());
    std::fprintf(to_, "  %-34s %10s %-14s %11s %11s\n",
                 "(with all in the fastest tier)", "", "",
                 seconds(made_.fast_ns()).c_str(),
                 seconds(made_.fast_ns()).c_str());
    std::size_t shown = 0;
    double cost = 0;
    double slow = 0;
    for (const auto& one : breakdown.objects) {
      if (report_.limit > 0 && shown >= report_.limit) {
        cost += one.cost_ns;
        slow += one.slow_ns;
        continue;
      }
      ++shown;
      const auto& object = report_.objects.objects()[one.object];
      std::string name = object.name;
      if (!object.label.empty()) name += " " + object.label;
      if (object.count > 1) name += " x" + std::to_string(object.count);
      object_line(name, bytes(object.bytes), tier_of(one), one.cost_ns,
                  one.slow_ns);
    }
    if (shown < breakdown.objects.size()) {
      object_line("(" + std::to_string(breakdown.objects.size() - shown) +
                      " others; --objects 0 shows all)",
                  "", "", cost, slow);
    }
    if (breakdown.overlap_ns != 0) {
      object_line("(saved: both links at once)", "", "", -breakdown.overlap_ns,
                  0);
    }
    const double moves = breakdown.waited_ns + breakdown.interference_ns;
    if (moves > 0) object_line("(moving while it runs)", "", "", moves, 0);
    object_line("(sum)", "", "", breakdown.ns, made_.slow_ns());
  }

  const EstimateReport& report_;
  const Differential& made_;
  std::string fast_name_;
  std::string slow_name_;
  std::FILE* to_;
};

}  // namespace

void print_text(const EstimateReport& report, std::FILE* to) {
  Printer(report, to).print();
}

}  // namespace thermocline
