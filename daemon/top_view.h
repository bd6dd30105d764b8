// TopView: what `thermocline top` shows, as lines of text.
//
// Knows no terminal and no socket: gets the service's answers (API.md) and a
// size, gives lines. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thermocline {

enum class TopStyle : std::uint8_t {
  kPlain,
  kHead,
  kGood,
  kWarn,
  kDim,
  kPicked
};

struct TopLine {
  std::string text;
  TopStyle style = TopStyle::kPlain;
};

// What the person chose.
struct TopChoice {
  enum class Sort : std::uint8_t { kAccesses, kSize, kFastShare, kPid };
  enum class By : std::uint8_t { kRegion, kTensor, kMapping };
  Sort sort = Sort::kAccesses;
  By by = By::kRegion;
  int picked = 0;  // row of heat that is explained
  bool help = false;
};

const char* sort_name(TopChoice::Sort sort);
const char* by_name(TopChoice::By by);  // as the API's "by"

// The service's answers as they came; empty: none.
struct TopAnswers {
  std::string status;
  std::string targets;
  std::string tiers;
  std::string heat;
  std::string why;  // of the row that is picked: explain
  // For rates: of the answers before, and how long ago they were.
  double seconds = 0;  // 0: there were none before
  double moved_before = 0;
  std::string trouble;  // one line: why there are none now
};

/// Bytes moved so far, as the status says.
double moved_bytes(const TopAnswers& answers);
/// The "start" of the picked row of heat, and its "pid"; false: there is none.
bool picked_place(const TopAnswers& answers, const TopChoice& choice,
                  std::uint64_t& start, int& pid);

/// At most `height` lines (0: as many as there are), each at most `width`
/// bytes long.
std::vector<TopLine> top_lines(const TopAnswers& answers,
                               const TopChoice& choice, int width, int height);

}  // namespace thermocline
