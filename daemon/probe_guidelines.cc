#include "daemon/probe_guidelines.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace thermocline {
namespace {

// Less of a difference is not worth a rule.
constexpr double kMatters = 1.1;
// Figures whose repeats differ by more, together, are not known to be alike.
constexpr double kAlike = 0.2;
// Of the best there is, this share is nearly all.
constexpr double kNearlyAll = 0.9;
// A load that takes so much longer than an idle memory's waits for others.
constexpr double kWaits = 1.5;
// Rows that are gathered shall be so large that this share is reached.
constexpr double kMost = 0.7;

std::string rate(const Measured& measured) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB/s", measured.median / 1e9);
  return text;
}

bool repeated(const Measured& measured) { return measured.repeats != 1; }

// More than chance, and worth a rule.
bool more(const Measured& a, const Measured& b, double matters = kMatters) {
  return repeated(a) && repeated(b) &&
         a.median > b.median * std::max(matters, 1 + a.spread + b.spread);
}
bool faster(const Measured& a, const Measured& b) { return more(a, b); }

// So well known that one can be said to be nearly as much as the other.
bool comparable(const Measured& a, const Measured& b) {
  return repeated(a) && repeated(b) && a.spread + b.spread <= kAlike;
}

// How many times as slow.
Measured slower_by(const Measured& first, const Measured& here) {
  return {first.median / here.median, first.spread + here.spread,
          std::min(first.repeats, here.repeats)};
}

std::vector<const OperationFigure*> of_name(const PlaceFigures& place,
                                            const std::string& name,
                                            std::size_t threads) {
  std::vector<const OperationFigure*> out;
  for (const OperationFigure& one : place.figures) {
    if (one.name != name || one.threads != threads) continue;
    if (place.find(one.title, threads) == &one) out.push_back(&one);
  }
  std::ranges::sort(out, {}, [](const auto* one) { return one->unit; });
  return out;
}

class Rules {
 public:
  Rules(const PlaceFigures& place, std::vector<Guideline>& to)
      : place_(place), to_(to), all_(place.threads().back()) {}

  void stores() {
    const auto* plain = place_.find("fill", all_);
    const auto* around = place_.find("fill around", all_);
    if (plain == nullptr || around == nullptr) return;
    const std::string evidence = "past the caches " +
                                 rate(around->bytes_per_s) + ", ordinary " +
                                 rate(plain->bytes_per_s);
    if (faster(around->bytes_per_s, plain->bytes_per_s)) {
      say("write what is large and not read soon with stores past the caches",
          evidence);
    } else if (faster(plain->bytes_per_s, around->bytes_per_s)) {
      say("write with ordinary stores", evidence);
    }
  }

  // The fewest threads that do nearly as well as any number; or that too many
  // do worse.
  void threads(const std::string& title, const std::string& verb) {
    std::vector<const OperationFigure*> by_count;
    for (const std::size_t count : place_.threads()) {
      if (const auto* one = place_.find(title, count)) by_count.push_back(one);
    }
    if (by_count.size() < 2) return;
    const auto best = *std::ranges::max_element(
        by_count, {}, [](const auto* one) { return one->bytes_per_s.median; });
    const auto* most = by_count.back();
    std::string evidence;
    for (const auto* one : by_count) {
      evidence += (evidence.empty() ? "" : ", ") +
                  std::to_string(one->threads) + ": " + rate(one->bytes_per_s);
    }
    const auto* fewer = by_count[by_count.size() - 2];
    const auto fewest = *std::ranges::find_if(by_count, [&](const auto* one) {
      return one->bytes_per_s.median >= kNearlyAll * best->bytes_per_s.median;
    });
    if (faster(best->bytes_per_s, most->bytes_per_s)) {
      say(verb + " with at most " + count_of(best->threads) +
              "; more are slower",
          evidence);
    } else if (fewest->threads < most->threads) {
      if (!comparable(fewest->bytes_per_s, best->bytes_per_s)) return;
      say(verb + " with " + count_of(fewest->threads) +
              "; more gain next to nothing",
          evidence);
    } else if (faster(most->bytes_per_s, fewer->bytes_per_s)) {
      say(verb + " with all " + count_of(most->threads), evidence);
    }
  }

  // The smallest rows that come nearly as fast as everything in order.
  void rows(const std::string& name, const std::string& in_order,
            const std::string& verb) {
    const auto sizes = of_name(place_, name, all_);
    const auto* line = place_.find(in_order, all_);
    if (sizes.size() < 2 || line == nullptr) return;
    const auto enough = std::ranges::find_if(sizes, [&](const auto* one) {
      return one->bytes_per_s.median >= kMost * line->bytes_per_s.median;
    });
    const auto& small = *sizes.front();
    const auto& chosen = enough == sizes.end() ? *sizes.back() : **enough;
    const std::string evidence =
        std::to_string(small.unit) + " B: " + rate(small.bytes_per_s) + ", " +
        std::to_string(chosen.unit) + " B: " + rate(chosen.bytes_per_s) +
        "; in order " + rate(line->bytes_per_s);
    if (!faster(chosen.bytes_per_s, small.bytes_per_s)) return;
    say(verb + " rows of " + std::to_string(chosen.unit) + " B or more" +
            (enough == sizes.end() ? ", and in order if you can" : ""),
        evidence);
  }

  void columns() {
    const auto* stride = place_.find("strided by 4096 B", all_);
    const auto* fill = place_.find("fill", all_);
    if (stride == nullptr || fill == nullptr ||
        !faster(fill->bytes_per_s, stride->bytes_per_s)) {
      return;
    }
    char times[32];
    std::snprintf(times, sizeof times, "%.0f times",
                  fill->bytes_per_s.median / stride->bytes_per_s.median);
    say("let what is written together lie together (columns that are written: "
        "column-major)",
        "4 bytes in each 4096 are written " + std::string(times) +
            " as slowly as all of them: " + rate(stride->bytes_per_s) +
            " against " + rate(fill->bytes_per_s));
  }

  void taking() {
    const auto* touch = place_.find("first touch", 1);
    const auto* fill = place_.find("fill", 1);
    if (touch == nullptr || fill == nullptr ||
        !faster(fill->bytes_per_s, touch->bytes_per_s)) {
      return;
    }
    say("keep memory and use it again, instead of taking it anew",
        "taken and touched " + rate(touch->bytes_per_s) + ", filled again " +
            rate(fill->bytes_per_s) + " (1 thread)");
  }

  // The smallest pieces that persist at nearly the full rate.
  void persisting() {
    const auto sizes = of_name(place_, "persist", 1);
    if (sizes.size() < 2) return;
    const auto best = *std::ranges::max_element(
        sizes, {}, [](const auto* one) { return one->bytes_per_s.median; });
    const auto enough = *std::ranges::find_if(sizes, [&](const auto* one) {
      return one->bytes_per_s.median >= kMost * best->bytes_per_s.median;
    });
    const std::string evidence = std::to_string(sizes.front()->unit) +
                                 " B: " + rate(sizes.front()->bytes_per_s) +
                                 ", " + std::to_string(enough->unit) +
                                 " B: " + rate(enough->bytes_per_s) + "; by " +
                                 place_.granularity;
    if (!faster(enough->bytes_per_s, sizes.front()->bytes_per_s)) return;
    say(std::string("write and sync ") + std::to_string(enough->unit) +
            " B or more at a time" +
            (place_.durable   ? ""
             : place_.unknown ? " (not known to survive a power cut here)"
                              : " (it does not survive a power cut here)"),
        evidence);
  }

  // The most traffic beside which a load does not wait much longer.
  void load() {
    const auto& curve = place_.loaded;
    if (curve.size() < 2) return;
    const Measured& idle = curve.front().read_ns;
    const auto& full = *std::ranges::max_element(
        curve, {}, [](const auto& one) { return one.read_ns.median; });
    if (!more(full.read_ns, idle, kWaits)) return;
    const LoadedFigure* calm = &curve.front();
    for (const auto& one : curve) {
      if (one.read_ns.median > kWaits * idle.median) break;
      calm = &one;
    }
    if (!more(full.read_ns, calm->read_ns)) return;
    char evidence[160];
    std::snprintf(evidence, sizeof evidence,
                  "a load takes %.0f ns beside no traffic, %.0f ns beside %s, "
                  "%.0f ns beside %s",
                  idle.median, calm->read_ns.median,
                  rate(calm->bytes_per_s).c_str(), full.read_ns.median,
                  rate(full.bytes_per_s).c_str());
    say(calm == &curve.front()
            ? "keep other traffic away where latency matters"
            : "keep other traffic below " + rate(calm->bytes_per_s) +
                  " where latency matters",
        evidence);
  }

  // What a format costs that has to be made, beside the bytes as they are.
  void serialising() {
    const auto* raw = place_.find("copy", 1);
    const auto* made = place_.find("serialise", 1);
    if (raw == nullptr || made == nullptr ||
        !faster(raw->bytes_per_s, made->bytes_per_s)) {
      return;
    }
    say("save state as the bytes that it is, not as records of an archive",
        "copied " + rate(raw->bytes_per_s) + ", serialised " +
            rate(made->bytes_per_s) + " (1 thread)");
  }

  // What may well lie here, and what should not, by how much slower than in
  // the first place it is.
  void against(const PlaceFigures& first) {
    const OperationFigure* least = nullptr;
    const OperationFigure* most = nullptr;
    Measured low, high;
    for (const OperationFigure& one : place_.figures) {
      const auto* there = first.find(one.title, all_);
      if (there == nullptr || one.threads != all_ ||
          place_.find(one.title, all_) != &one) {
        continue;
      }
      const auto slower = slower_by(there->bytes_per_s, one.bytes_per_s);
      if (!repeated(slower)) continue;
      if (least == nullptr || slower.median < low.median) {
        least = &one;
        low = slower;
      }
      if (most == nullptr || slower.median > high.median) {
        most = &one;
        high = slower;
      }
    }
    if (most == nullptr || !more(high, {1}) || !more(high, low)) return;
    char evidence[160];
    std::snprintf(evidence, sizeof evidence,
                  "%s: %.2f times as slow as in %s; %s: %.2f times",
                  most->title.c_str(), high.median, first.place.c_str(),
                  least->title.c_str(), low.median);
    say("keep here what is used as in " + least->title + ", not as in " +
            most->title,
        evidence);
  }

 private:
  static std::string count_of(std::size_t threads) {
    return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
  void say(const std::string& what, const std::string& evidence) {
    to_.push_back({place_.place, what, evidence});
  }

  const PlaceFigures& place_;
  std::vector<Guideline>& to_;
  std::size_t all_;
};

}  // namespace

std::vector<Guideline> guidelines_of(const std::vector<PlaceFigures>& places) {
  std::vector<Guideline> out;
  for (const PlaceFigures& place : places) {
    if (place.figures.empty()) continue;
    Rules rules(place, out);
    rules.stores();
    rules.threads("reduce", "read");
    rules.threads("fill around", "write");
    rules.rows("gather", "reduce", "gather");
    rules.rows("scatter", "fill", "scatter");
    rules.rows("scatter around", "fill around",
               "with stores past the caches, write");
    rules.columns();
    rules.taking();
    rules.serialising();
    rules.load();
    rules.persisting();
    if (&place != &places.front()) rules.against(places.front());
  }
  return out;
}

}  // namespace thermocline
