#include "tracer/importer.h"

#include <nlohmann/json.hpp>

#include "traces/trace_invariants.h"

namespace thermocline {
namespace {

std::string all_formats() {
  std::string names;
  for (const auto& [name, entry] : Registry<Importer>::entries()) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace

Status ImportedTrace::room(const ImportInput& in) const {
  if (used_ <= kBaseBytes + kBytesPerByte * in.taken()) return {};
  return unsupported("offset " + std::to_string(in.offset()) +
                     ": unpacks to too much for a file of its size; record " +
                     "less, or thin it out where the format has an option");
}

Result<std::string> recognise(ImportInput& in) {
  const auto head = in.head();
  std::string found;
  for (const auto& [name, entry] : Registry<Importer>::entries()) {
    const auto importer = entry.make(nlohmann::json::object());
    if (!importer || !(*importer)->recognises(head)) continue;
    if (!found.empty()) {
      return invalid("may be " + found + " or " + name +
                     "; say which with --format");
    }
    found = name;
  }
  if (!found.empty()) return found;
  return invalid("not of a known format; there are: " + all_formats() +
                 "; --format names one");
}

Result<Imported> import_recording(ImportInput in,
                                  const ImportOptions& options) {
  const std::string& name = in.name();
  Imported out;
  out.format = options.format;
  if (out.format.empty()) {
    auto found = recognise(in);
    if (!found) return found.error().within(name);
    out.format = *std::move(found);
  }
  const auto json =
      nlohmann::json::parse(options.options.empty() ? "{}" : options.options,
                            nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return invalid("options " + options.options + " are not JSON; as in " +
                   "'{\"NAME\": VALUE}', with names of thermocline list");
  }
  auto importer = Registry<Importer>::make("format", out.format, json);
  if (!importer) {
    Error why = importer.error();
    if (why.code == Error::Code::kInvalid) {
      why.message += "; thermocline list has its options";
    }
    return why;
  }

  ImportedTrace read;
  const auto status = (*importer)->read(in, read);
  if (!status) {
    const auto why = status.error().within(name);
    if (!options.partial || status.error().code != Error::Code::kCorrupt) {
      return why;
    }
    out.damage = why.message;
  }
  out.trace = std::move(read.trace);
  out.notes = std::move(read.notes);
  restore_invariants(out.trace);
  out.trace.end = {status.has_value(), 0, out.trace.run_ns()};
  return out;
}

}  // namespace thermocline
