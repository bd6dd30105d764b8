#!/bin/bash
# estimator_accuracy from the outside: what it refuses; one workload traced,
# run and scored; and that what it keeps scores the same again.
set -euo pipefail
accuracy=$(dirname "$(realpath "$0")")/estimator_accuracy
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "estimator_accuracy_test: $*"; cat "$out"/said; exit 1; }

refused() {  # refused TEXT ARGUMENT...
  local text=$1 status=0
  shift
  "$accuracy" "$@" >"$out/said" 2>&1 || status=$?
  ((status != 0)) || fail "accepted $*"
  grep -q -e "$text" "$out/said" || fail "no \"$text\" for $*"
}
refused '"nonesuch"; there are .*saturate' --workload nonesuch
refused 'holds no workload' --from "$out"

"$accuracy" --quick --save "$out/kept" --json "$out/first" >"$out/said" 2>&1 ||
  fail "it failed"
"$accuracy" --quick --from "$out/kept" --json "$out/again" >"$out/said" 2>&1 ||
  fail "it failed on what it had kept"
cat "$out/said"
cmp "$out/first" "$out/again" || fail "scores differ"
python3 - "$out/first" <<'CHECK'
import json, sys
(name, one), = json.load(open(sys.argv[1])).items()
rows = {row["name"]: row for row in one["rows"]}
assert one["slow_s"] > 2 * one["fast_s"] > 0, one
assert one["noise"] < 0.02, one["noise"]
# The array that is chased is worth far more, by measurement.
assert rows["streamed-fast"]["measured_s"] > 1.5 * rows["chased-fast"]["measured_s"], rows
# Of what all methods can do, all are right.
for method, error in rows["percent-50"]["errors"].items():
    assert abs(error) < 0.05, (method, error)
CHECK
