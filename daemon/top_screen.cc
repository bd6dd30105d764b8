#include "daemon/top_screen.h"

#define NCURSES_NOMACROS  // functions, not macros of the same names
#include <curses.h>

#include <algorithm>
#include <cstdio>

namespace thermocline {
namespace {

attr_t attributes(TopStyle style) {
  const auto colour = [](short pair) {
    return has_colors() ? static_cast<attr_t>(COLOR_PAIR(pair)) : A_NORMAL;
  };
  switch (style) {
    case TopStyle::kPlain: return A_NORMAL;
    case TopStyle::kHead: return A_BOLD;
    case TopStyle::kGood: return colour(1);
    case TopStyle::kWarn: return colour(2) | A_BOLD;
    case TopStyle::kDim: return A_DIM;
    case TopStyle::kPicked: return A_REVERSE;
  }
  return A_NORMAL;
}

}  // namespace

TopScreen::TopScreen() {
  ::initscr();
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  if (has_colors()) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(1, COLOR_GREEN, -1);
    ::init_pair(2, COLOR_YELLOW, -1);
  }
}

TopScreen::~TopScreen() { ::endwin(); }

int TopScreen::width() const { return std::max(1, getmaxx(stdscr)); }
int TopScreen::height() const { return std::max(1, getmaxy(stdscr)); }

void TopScreen::show(const std::vector<TopLine>& lines) {
  ::erase();
  int row = 0;
  for (const auto& line : lines) {
    const auto style = attributes(line.style);
    ::attron(static_cast<int>(style));
    ::mvaddnstr(row++, 0, line.text.c_str(), width());
    ::attroff(static_cast<int>(style));
  }
  ::refresh();
}

int TopScreen::key(int timeout_ms) {
  ::timeout(timeout_ms);
  switch (const int got = ::getch()) {
    case ERR: return kNone;
    case KEY_UP: return kUp;
    case KEY_DOWN: return kDown;
    case KEY_RESIZE: return kResized;
    default: return got;
  }
}

}  // namespace thermocline
