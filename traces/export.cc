#include "traces/export.h"

#include <array>
#include <charconv>
#include <concepts>
#include <nlohmann/json.hpp>

#include "traces/export_columns.h"
#include "traces/result.h"

namespace thermocline {
namespace {

constexpr std::size_t kPiece = 64 << 10;

void append(std::string& to, std::integral auto value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  to.append(digits.begin(), end);
}
void append(std::string& to, bool value) { to += value ? "true" : "false"; }
void append(std::string& to, Hex hex) {
  std::array<char, 24> digits{};
  const auto end =
      std::to_chars(digits.begin(), digits.end(), hex.value, 16).ptr;
  to += "0x";
  to.append(digits.begin(), end);
}

struct CsvHeader {
  std::string& out;
  bool first = true;
  void operator()(const char* name, const auto&) {
    if (!first) out += ',';
    first = false;
    out += name;
  }
};

struct CsvRow {
  std::string& out;
  bool first = true;

  void separate() {
    if (!first) out += ',';
    first = false;
  }
  void operator()(const char*, std::integral auto value) {
    separate();
    append(out, value);
  }
  void operator()(const char*, Hex value) {
    separate();
    append(out, value);
  }
  void operator()(const char*, std::string_view text) {
    separate();
    if (text.find_first_of(",\"\r\n") == text.npos) {
      out += text;
      return;
    }
    out += '"';
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  }
  template <std::integral T>
  void operator()(const char*, const std::vector<T>& values) {
    separate();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ' ';
      append(out, values[i]);
    }
  }
};

struct JsonObject {
  std::string& out;
  bool first = true;

  void name(const char* name) {
    out += first ? "{\"" : ",\"";
    first = false;
    out += name;
    out += "\":";
  }
  void text(std::string_view text) {
    // A path or an argument may be any bytes; JSON is UTF-8.
    out += nlohmann::json(text).dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
  }
  void operator()(const char* key, std::integral auto value) {
    name(key);
    append(out, value);
  }
  void operator()(const char* key, Hex value) {
    name(key);
    out += '"';
    append(out, value);
    out += '"';
  }
  void operator()(const char* key, std::string_view value) {
    name(key);
    text(value);
  }
  template <typename T>
  void operator()(const char* key, const std::vector<T>& values) {
    name(key);
    out += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ',';
      if constexpr (std::integral<T>) {
        append(out, values[i]);
      } else {
        text(values[i]);
      }
    }
    out += ']';
  }
};

template <typename Event>
void append_json(std::string& out, const Event& event) {
  JsonObject object{out};
  export_columns(object, event);
  out += '}';
}

// Text on its way to a sink, in pieces.
class Outlet {
 public:
  explicit Outlet(const TextSink& sink) : sink_(sink) {}
  std::string text;

  /// Call between events; false when the sink wants no more.
  bool keep_going() { return text.size() < kPiece || flush(); }
  bool flush() {
    const bool more = text.empty() || sink_(text);
    text.clear();
    return more;
  }

 private:
  const TextSink& sink_;
};

std::vector<SequenceRow> rows_of(const std::vector<AccessSequence>& all) {
  std::vector<SequenceRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& access : all[i].accesses) {
      rows.push_back({i, &all[i], access});
    }
  }
  return rows;
}

// show(name, list) for each list of a trace; of what is worked out, an empty
// one unless it is `wanted`.
void each_list(const Trace& trace, const std::string& wanted, auto show) {
  show("samples", trace.samples);
  show("tensors", trace.tensors);
  show("operators", trace.operators);
  show("mappings", trace.mappings);
  show("marks", trace.marks);
  show("counters", trace.counters);
  show("losses", trace.losses);
  show("periods", trace.periods);
  const char* const sequences = "sequences";
  show(sequences, wanted.empty() || wanted == sequences
                      ? rows_of(trace.sequences)
                      : std::vector<SequenceRow>());
  const char* const accesses = "tensor_accesses";
  show(accesses, wanted.empty() || wanted == accesses
                     ? tensor_accesses(trace).tensors
                     : std::vector<TensorAccess>());
}

template <typename Event>
bool csv_of(const std::vector<Event>& events, Outlet& out) {
  CsvHeader header{out.text};
  export_columns(header, Event{});
  out.text += '\n';
  for (const auto& event : events) {
    CsvRow row{out.text};
    export_columns(row, event);
    out.text += '\n';
    if (!out.keep_going()) return false;
  }
  return true;
}

template <typename Event>
bool json_of(const char* name, const std::vector<Event>& events, Outlet& out) {
  out.text += ",\n\"";
  out.text += name;
  out.text += "\":[";
  const char* separator = "\n";
  for (const auto& event : events) {
    out.text += separator;
    separator = ",\n";
    append_json(out.text, event);
    if (!out.keep_going()) return false;
  }
  out.text += ']';
  return true;
}

}  // namespace

const std::vector<std::string>& export_lists() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    each_list(Trace{}, {},
              [&](const char* name, const auto&) { all.emplace_back(name); });
    return all;
  }();
  return names;
}

bool export_csv(const Trace& trace, const std::string& list,
                const TextSink& sink) {
  Outlet out(sink);
  bool found = false;
  bool whole = true;
  each_list(trace, list, [&](const char* name, const auto& events) {
    if (list != name) return;
    found = true;
    whole = csv_of(events, out);
  });
  CHECK(found);
  return whole && out.flush();
}

bool export_json(const Trace& trace, const std::string& list,
                 const TextSink& sink) {
  Outlet out(sink);
  out.text += "{\"info\":";
  append_json(out.text, trace.info);
  out.text += ",\n\"end\":";
  if (trace.end.known) {
    append_json(out.text, trace.end);
  } else {
    out.text += "null";
  }
  bool whole = true;
  each_list(trace, list, [&](const char* name, const auto& events) {
    if (!whole || (!list.empty() && list != name)) return;
    whole = json_of(name, events, out);
  });
  out.text += "}\n";
  return whole && out.flush();
}

}  // namespace thermocline
