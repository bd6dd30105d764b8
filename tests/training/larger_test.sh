#!/bin/sh
# The jobs whose data need not fit DRAM come to the same with their rows in
# files as in memory, and leave nothing behind.
set -eu
example=$1
work=$(mktemp -d /var/tmp/thermocline-larger-XXXXXX)
trap 'rm -rf "$work"' EXIT
for job in posterior regression surface; do
  mib=8
  test "$job" != surface || mib=1 # decomposed, not just read
  "$example" --mib $mib "$job" >"$work/memory"
  mkdir "$work/rows"
  "$example" --mib $mib --store "$work/rows" "$job" >"$work/file"
  rmdir "$work/rows" # empty
  cat "$work/file"
  cmp "$work/memory" "$work/file"
done
if "$example" --store "$work/none" posterior 2>"$work/error"; then exit 1; fi
grep -q "$work/none" "$work/error"
