// Imports of bytes and files, for the tests of importers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tracer/importer.h"

namespace thermocline {

inline Result<Imported> import_bytes(const std::vector<std::uint8_t>& bytes,
                                     const ImportOptions& options = {}) {
  return import_recording(ImportInput::memory(bytes, "test"), options);
}

inline Result<Imported> import_text(const std::string& text,
                                    const ImportOptions& options = {}) {
  return import_bytes({text.begin(), text.end()}, options);
}

inline Result<Imported> import_file(const std::string& path,
                                    const ImportOptions& options = {}) {
  auto in = ImportInput::open(path);
  if (!in) return in.error();
  return import_recording(*std::move(in), options);
}

inline ImportOptions as_format(const std::string& format,
                               const std::string& options = "") {
  ImportOptions out;
  out.format = format;
  out.options = options;
  return out;
}

/// Refused, with an error that holds each of these.
inline void expect_error(const Result<Imported>& imported,
                         const std::vector<std::string>& naming) {
  ASSERT_FALSE(imported.has_value());
  for (const auto& name : naming) {
    EXPECT_NE(imported.error().message.find(name), std::string::npos)
        << imported.error().message;
  }
}

/// All bytes of a file, unpacked.
inline std::vector<std::uint8_t> unpacked_file(const std::string& path) {
  std::vector<std::uint8_t> all;
  auto in = ImportInput::open(path);
  if (!in) return all;
  for (;;) {
    const auto bytes = in->next();
    if (!bytes || bytes->empty()) return all;
    all.insert(all.end(), bytes->begin(), bytes->end());
  }
}

}  // namespace thermocline
