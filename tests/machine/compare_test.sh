#!/bin/bash
# compare from the outside: what it refuses, and that two contenders and what
# predicts the bound run the same workload, each in a machine of its own.
set -euo pipefail
compare=$(dirname "$(realpath "$0")")/compare
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "compare_test: $*"; cat "$out"/said; exit 1; }

refused() {  # refused TEXT ARGUMENT...
  local text=$1 status=0
  shift
  "$compare" "$@" >"$out/said" 2>&1 || status=$?
  ((status != 0)) || fail "accepted $*"
  (($(wc -l <"$out/said") == 1)) || fail "not one line for $*"
  grep -q -e "$text" "$out/said" || fail "no \"$text\" for $*"
}
refused '"nonesuch"; there are .*gups' --workload nonesuch
refused 'fast-share' --workload gups --fast-share 2
refused 'contender "upstairs"' --workload gups --contenders first_touch,upstairs
refused 'contender "planned:linux"' --workload gups --contenders planned:linux
refused 'larger --size' --workload gups --option=--size=16 --option=--no-check

"$compare" --workload gups --option=--size=64 --option=--steps=2 --option=--no-check \
  --contenders linux,all_fast,bound --json "$out/json" >"$out/said" 2>&1 || fail "it failed"
cat "$out/said"
python3 - "$out/json" <<'CHECK'
import json, sys
it = json.load(open(sys.argv[1]))
assert it["emulated"] is True, it
linux, fast = (it["runs"][name][0] for name in ("linux", "all_fast"))
assert linux["checksum"] == fast["checksum"], it
assert linux["virtual_s"] > fast["virtual_s"] > 0, it
assert "pgpromote_success" in linux["kernel"], it
MIB = 1 << 20
assert fast["fast_bytes"] > 64 * MIB, it
# No more than is meant when it begins; in the end also what huge pages may take
# below the kernel's watermarks, but nothing like all 64 MiB.
before, after = linux["fast_bytes_before"], linux["fast_bytes"]
assert 0.5 * it["free_bytes"] < before <= it["free_bytes"] + MIB, it
assert 0.5 * it["free_bytes"] < after < it["free_bytes"] + 24 * MIB, it
# Free moves gain no less than paid ones.
bound = it["runs"]["bound"][0]
assert bound["checksum"] == linux["checksum"], it
assert bound["paid"] <= bound["free"] <= 1, it
CHECK
