#include "tracer/habits_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include "tracer/words.h"
#include "traces/replace_file.h"

namespace thermocline {
namespace {

constexpr std::string_view kMagic = "thermocline-habits";

void add(std::string& text, double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(" ").append(digits, end);
}

bool take_count(std::string_view& line, double& value) {
  const auto word = take_word(line);
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && rest == end && std::isfinite(value) &&
         value >= 0;
}

bool take_habit(std::string_view line, TensorHabits::Key& key, Habit& habit) {
  if (!read_number(take_word(line), 16, key) ||
      !read_number(take_word(line), 10, habit.bytes) ||
      !take_count(line, habit.reads) || !take_count(line, habit.writes) ||
      !take_count(line, habit.distance) || !take_count(line, habit.lifetime)) {
    return false;
  }
  const auto lives_on = take_word(line);
  habit.lives_on = lives_on == "1";
  return (habit.lives_on || lives_on == "0") && take_word(line).empty();
}

}  // namespace

std::string habits_text(const TensorHabits& habits) {
  std::vector<std::pair<TensorHabits::Key, Habit>> all(habits.all().begin(),
                                                       habits.all().end());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text(kMagic);
  text += " 1";
  add(text, habits.step_operators());
  text += '\n';
  for (const auto& [key, habit] : all) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(key));
    text.append(digits).append(" ").append(std::to_string(habit.bytes));
    add(text, habit.reads);
    add(text, habit.writes);
    add(text, habit.distance);
    add(text, habit.lifetime);
    text += habit.lives_on ? " 1\n" : " 0\n";
  }
  return text;
}

Result<TensorHabits> read_habits(std::string_view text) {
  TensorHabits habits;
  std::size_t number = 0;
  while (!text.empty()) {
    auto line = take_line(text);
    if (++number == 1) {
      double operators = 0;
      if (take_word(line) != kMagic || take_word(line) != "1" ||
          !take_count(line, operators) || operators < 1) {
        return corrupt(
            "line 1: not a profile of tensors, version 1; delete the file, a "
            "run writes it anew");
      }
      habits.set_step_operators(operators);
      continue;
    }
    TensorHabits::Key key = 0;
    Habit habit;
    if (!take_habit(line, key, habit) || habits.all().contains(key)) {
      return corrupt("line " + std::to_string(number) +
                     ": not a key and its habit; delete the file, a run "
                     "writes it anew");
    }
    if (habits.all().size() >= TensorHabits::kMostKeys) {
      return corrupt("more than " + std::to_string(TensorHabits::kMostKeys) +
                     " keys; delete the file, a run writes it anew");
    }
    habits.set(key, habit);
  }
  if (number == 0)
    return corrupt("empty; delete the file, a run writes it anew");
  return habits;
}

Status save_habits(const TensorHabits& habits, const std::string& path) {
  return replace_file(path, habits_text(habits));
}

Result<TensorHabits> load_habits(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return file_failure("open", path, errno);
  std::string text;
  char part[1 << 16];
  while (in.read(part, sizeof part), in.gcount() > 0) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad())
    return io(path +
              ": cannot be read to its end; delete it, a run writes it anew");
  return read_habits(text).within(path);
}

}  // namespace thermocline
