#!/usr/bin/env bash
# thermocline top in a terminal of its own (tmux): what it shows while a guard
# holds all moves back, its keys, a terminal that is resized, and a terminal that
# is itself again afterwards.
#   top_test.sh BINARY_DIRECTORY
set -euo pipefail
bin=$(realpath "$1")
scratch=$(mktemp -d)
terminal=(tmux -L "thermocline-$$" -f /dev/null)
cleanup() {
  "${terminal[@]}" kill-server 2>/dev/null || true
  kill $daemon "$job" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
fail() { echo "top: $*"; "${terminal[@]}" capture-pane -p || true; exit 1; }
# Waits until the screen shows a text (10 s).
shows() {
  for _ in {1..100}; do
    "${terminal[@]}" capture-pane -p >"$scratch/screen"
    ! grep -qF -- "$1" "$scratch/screen" || return 0
    sleep 0.1
  done
  fail "does not show \"$1\""
}

daemon=
/usr/bin/python3 -c 'import time; m = bytearray(b"x" * (8 << 20)); time.sleep(60)' &
job=$!
# Before that it has the name of this script's shell.
for _ in {1..100}; do
  [[ $(<"/proc/$job/comm") != python3 ]] || break
  sleep 0.1
done
# All is to go to a node that is not there: nothing fits.
cat >"$scratch/two.json" <<'JSON'
{"name": "two", "tiers": [
  {"name": "near", "nodes": [0], "capacity": 1073741824, "read_ns": 80,
   "write_ns": 80, "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10},
  {"name": "far", "nodes": [63], "capacity": 1073741824, "read_ns": 300,
   "write_ns": 300, "read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9}]}
JSON
"$bin/thermoclined" --mover dry --interval 200 --pid $job \
  --machine "$scratch/two.json" --policy all_slow --socket "$scratch/api.sock" 2>"$scratch/log" &
daemon=$!
for _ in {1..100}; do [[ -S $scratch/api.sock ]] && break; sleep 0.1; done

# Not in a terminal: plain text, once.
for _ in {1..50}; do
  "$bin/thermocline" top --socket "$scratch/api.sock" >"$scratch/plain"
  ! grep -q python3 "$scratch/plain" || break
  sleep 0.2
done
grep -q python3 "$scratch/plain" || fail "plain text lacks the target"
"$bin/thermocline" top --json --socket "$scratch/api.sock" |
  python3 -c 'import json, sys; assert json.load(sys.stdin)["targets"]'

"${terminal[@]}" new-session -d -x 120 -y 40 \
  "$bin/thermocline top -d 0.2 --socket $scratch/api.sock; echo left with \$?; sleep 60"
shows "thermocline top - "
shows "python3"
shows "TIER"
shows "held back by guards: capacity "
shows "was refused: capacity"
"${terminal[@]}" send-keys p
shows "paused: nothing is moved"
"${terminal[@]}" send-keys p s
shows "(by size)"
"${terminal[@]}" send-keys v v
shows "HOTTEST mappings"
"${terminal[@]}" send-keys h
shows "this help, or not"
"${terminal[@]}" send-keys h
"${terminal[@]}" resize-window -x 60 -y 12
sleep 0.5
shows "thermocline top - "
[[ $(wc -L <"$scratch/screen") -le 60 ]] || fail "wider than its terminal"
"${terminal[@]}" resize-window -x 120 -y 40
shows "HOTTEST mappings"
"${terminal[@]}" send-keys q
shows "left with 0"
echo "top: all well"
