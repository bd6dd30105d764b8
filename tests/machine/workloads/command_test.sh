#!/bin/sh
# command_test.sh MACHINE_WORKLOAD: what the command line promises.
set -eu
workload=$1
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail() {
  echo "$*: got"
  cat "$out"
  exit 1
}

# refused TEXT ARG...: exit 2 and one line that contains TEXT.
refused() {
  text=$1
  shift
  status=0
  "$workload" "$@" >"$out" 2>&1 || status=$?
  [ "$status" = 2 ] && [ "$(wc -l <"$out")" = 1 ] && grep -q -e "$text" "$out" ||
    fail "$* (status $status)"
}

"$workload" gups --size 4 --steps 2 --seed 7 >"$out"
[ "$(head -n 1 "$out")" = "workload gups: 4 MiB, 2 steps, seed 7" ] ||
  fail "first line"
[ "$(grep -c '^step [01] checksum 0x[0-9a-f]\{16\} seconds [0-9.]*$' "$out")" \
  = 2 ] || fail "lines of steps"
tail -n 1 "$out" | grep -q '^checksum 0x[0-9a-f]\{16\}$' || fail "last line"

"$workload" pointer_chase --size 8 --steps 2 --threads 2 --no-check >"$out" ||
  fail "two threads"

"$workload" --list --json >"$out"
grep -q '"name": "hash_join"' "$out" || fail "--list --json"
"$workload" --list >"$out"
grep -q '^hash_join ' "$out" || fail "--list"

# Two placements, both where this host has memory: each runs all the steps.
listed=$(mktemp)
trap 'rm -f "$out" "$listed"' EXIT
echo '[{"name": "one", "rest": 0, "ranges": []},
       {"name": "two", "rest": 0, "ranges": [[4096, 8192, 0]]}]' >"$listed"
"$workload" stream --size 4 --steps 2 --placement "$listed" >"$out" ||
  fail "--placement"
[ "$(grep -c '^array [abc] 0x[0-9a-f]* 0x[0-9a-f]*$' "$out")" = 3 ] ||
  fail "lines of arrays"
[ "$(grep '^placement ' "$out" | tr '\n' ' ')" = "placement one placement two " ] ||
  fail "lines of placements"
[ "$(grep -c '^checksum ' "$out")" = 2 ] &&
  [ "$(grep '^checksum ' "$out" | uniq | wc -l)" = 1 ] || fail "checksums"
refused 'is no JSON list' gups --size 4 --placement /dev/null
refused 'No such file' gups --size 4 --placement /nowhere

refused 'no workload named; see --list'
refused 'nonesuch.*--list' nonesuch
refused '--size' gups --size 1
refused '--steps' gups --steps 0
refused '--seed' gups --seed -1
refused '--threads' gups --size 8 --threads 4
refused '--wrong.*--help' gups --wrong
refused '--json' gups --json
