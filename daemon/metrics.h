// metrics_text: the daemon's counters in Prometheus' text format.
#pragma once

#include <string>

#include "daemon/service.h"
#include "daemon/usage.h"

namespace thermocline {

std::string metrics_text(const Service& service, const Usage& usage);

}  // namespace thermocline
