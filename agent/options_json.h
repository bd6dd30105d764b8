// json_of: an options struct as JSON, through its own list of fields.
//
// What read_options() (traces/fields.h) reads back. Includes json.hpp: from
// .cc files only.
#pragma once

#include "traces/fields.h"

namespace thermocline {

struct FieldWriter {
  nlohmann::json out;
  template <typename T, typename... Rest>
  void operator()(const char* name, const T& value, Rest...) {
    out[name] = value;
  }
};

template <typename Options>
nlohmann::json json_of(Options options) {
  FieldWriter writer;
  options.fields(writer);
  return writer.out;
}

}  // namespace thermocline
