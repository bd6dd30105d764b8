#!/bin/sh
# layers.sh [TREE]: the rules of the house that a compiler does not know.
# Prints each breach as FILE: what, and fails if there is one.
#  - includes point down only: traces <- estimator <- agent, tracer (which
#    never see each other), training <- policies <- daemon; tests may see all
#  - no .cc or .h has more than 400 lines; the median is at most 120, nine of
#    ten have at most 300
#  - a quarter to a third of the headers is comment
#  - json.hpp is included by .cc files only (but for traces/fields.h)
#  - torch is included by .cc files only (but for traces/libtorch.h)
set -eu
tree=${1:-$(dirname "$0")/..}
cd "$tree"

sources=$(find agent daemon estimator policies tests tracer traces training \
  -type f \( -name '*.cc' -o -name '*.h' \) 2>/dev/null | LC_ALL=C sort)
[ -n "$sources" ] || { echo "$tree: no sources"; exit 1; }

# What a folder may include, itself apart.
below() {
  case $1 in
    traces) ;;
    estimator) echo traces ;;
    agent | tracer | training) echo traces estimator ;;
    policies) echo traces estimator agent tracer ;;
    daemon) echo traces estimator agent tracer training policies ;;
    tests) echo traces estimator agent tracer training policies daemon ;;
  esac
}

# lines_of P: of the file at which P % are shorter.
lines_of() {
  # shellcheck disable=SC2086
  wc -l $sources | grep -v ' total$' | awk '{print $1}' | sort -n |
    awk -v p="$1" '{n[NR] = $1} END {print n[int((NR * p + 99) / 100)]}'
}

# Of the lines of the headers that are not empty, whole percents.
comment_share() {
  # shellcheck disable=SC2046
  cat $(echo "$sources" | grep '\.h$' | grep -v '^tests/') |
    awk 'NF {all++} /^[ \t]*\/\// {said++} END {printf "%d", 100 * said / all + 0.5}'
}

breaches() {
  for file in $sources; do
    folder=${file%%/*}
    allowed=" $folder $(below "$folder") "
    for other in agent daemon estimator policies tests tracer traces training
    do
      case $allowed in *" $other "*) continue ;; esac
      grep -n "^[[:space:]]*#[[:space:]]*include[[:space:]]*[\"<]$other/" \
        "$file" | sed "s|^\([0-9]*\):.*|$file:\1: $folder must not include $other/|"
    done
    lines=$(wc -l <"$file")
    [ "$lines" -le 400 ] || echo "$file: $lines lines, at most 400"
    case $file in
      *.cc | traces/fields.h | tests/*) ;;
      *) grep -q 'include.*nlohmann/json\.hpp' "$file" &&
        echo "$file: includes json.hpp; use json_fwd.hpp" ;;
    esac
    case $file in
      *.cc | traces/libtorch.h) ;;
      *) grep -Eq 'include[[:space:]]*[<"](torch|ATen|c10)/' "$file" &&
        echo "$file: a header must not include torch" ;;
    esac
  done
  [ "$median" -le 120 ] || echo "median file has $median lines, at most 120"
  [ "$ninth" -le 300 ] || echo "one file of ten has $ninth lines, at most 300"
  case $comment in
    2[5-9] | 3[0-5]) ;;
    *) echo "headers: $comment % is comment, not 25 to 35" ;;
  esac
}

median=$(lines_of 50)
ninth=$(lines_of 90)
comment=$(comment_share)
found=$(breaches)
if [ -n "$found" ]; then
  echo "$found"
  echo "layers: $(echo "$found" | wc -l) breaches"
  exit 1
fi
echo "layers: $(echo "$sources" | wc -l) files in order: median $median lines," \
  "nine of ten at most $ninth, headers $comment % comment"
