#!/usr/bin/env bash
# Runs the shell examples (```sh blocks) of the README and of the guides, each
# command by itself; fails with the first that fails.
#   readme.sh BUILD_DIRECTORY
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$(realpath "$0")")/.."
count=0
while read -r line; do
  echo "\$ $line"
  bash -euc "${line//build\/release/$build}" || { echo "readme: that failed"; exit 1; }
  count=$((count + 1))
done < <(cat README.md daemon/GUIDE.md policies/GUIDE.md | sed -n '/^```sh$/,/^```$/p' | grep -v "^\`\`\`")
((count)) || { echo "readme: no commands found"; exit 1; }
lines=$(wc -l <README.md)
((lines <= 150)) || { echo "readme: $lines lines, at most 150"; exit 1; }
echo "readme: $count commands run"
