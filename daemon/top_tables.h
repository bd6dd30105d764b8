// The tables of `thermocline top`: targets, the hottest memory, and why it
// lies where it does. `rows`: at most so many; 0: all. Thread safety: pure.
#pragma once

#include "daemon/top_page.h"

namespace thermocline {

/// Those that have not ended.
std::size_t count_targets(const nlohmann::json& targets);
void add_targets(TopPage& page, const nlohmann::json& targets,
                 const TopChoice& choice, int rows);
/// Around the row that is picked. `pids`: tells of each row whose it is.
void add_heat(TopPage& page, const nlohmann::json& heat,
              const TopChoice& choice, int rows, bool pids);
/// Of the hottest region of what is explained.
void add_why(TopPage& page, const nlohmann::json& why);

}  // namespace thermocline
