#!/bin/sh
# The jobs whose data need not fit DRAM come to the same with their rows in
# files as in memory, and leave nothing behind, however they end.
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

# Nor when a signal ends them, and never what another run left.
mkdir "$work/rows"
"$example" --mib 64 --steps 1000000 --store "$work/rows" regression &
while ! test -e "$work/rows/samples.rows" && kill -0 $!; do sleep 0.1; done
kill $!
if wait $!; then exit 1; fi
rmdir "$work/rows"
mkdir "$work/rows"
touch "$work/rows/leaves.rows"
if "$example" --mib 1 --store "$work/rows" surface 2>"$work/error"; then
  exit 1
fi
grep -q "leaves.rows exists; remove it" "$work/error"
test "$(ls "$work/rows")" = leaves.rows

if "$example" --store "$work/none" posterior 2>"$work/error"; then exit 1; fi
grep -q "$work/none" "$work/error"
