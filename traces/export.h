// Exports a trace as text: CSV of one of its lists, or JSON of all.
//
// Names and units are the same in both: a time is `..._ns`, a size
// `..._bytes`; addresses are hexadecimal ("0x7f2a40000000"; in JSON strings,
// for JSON's numbers end at 2^53). Text is given out as it grows, nothing is
// built up in memory. Thread safety: pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

/// Takes a piece of text; false stops the export.
using TextSink = std::function<bool(std::string_view)>;

/// "samples", "tensors", "operators", "mappings", "marks", "counters",
/// "losses", and "tensor_accesses" (tensor_accesses.h), which is worked out:
/// the lists of a trace that have a name here.
const std::vector<std::string>& export_lists();

/// A header line and a line for each event (RFC 4180; lists of numbers are
/// separated by spaces). False when the sink said so.
/// Requires: `list` is one of export_lists().
bool export_csv(const Trace& trace, const std::string& list,
                const TextSink& sink);

/// One object: "info", "end" (null for a cut trace) and the lists, or only the
/// one named; an event a line. False when the sink said so.
/// Requires: `list` is empty or one of export_lists().
bool export_json(const Trace& trace, const std::string& list,
                 const TextSink& sink);

}  // namespace thermocline
