#!/usr/bin/env bash
# A stranger's first quarter of an hour: from an empty clone to a job whose
# memory is placed, with the README's commands. Each step is timed.
#   tests/stranger.sh [--from REPOSITORY] [--minutes N]
#       clones, builds, and holds the session; fails after 15 minutes, or N
#   tests/stranger.sh --built BUILD_DIRECTORY
#       the session alone, with what is built there; the tests do this
#
# On a host with one kind of memory two tiers are made up: what should move is
# decided and explained, and stays. `./bootstrap demo` moves it, in the emulated
# machine.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")
from=$root minutes=15 built=''
while (($#)); do
  case $1 in
    --from) from=${2:?--from needs a repository}; shift 2 ;;
    --minutes) minutes=${2:?--minutes needs a number}; shift 2 ;;
    --built) built=$(realpath "${2:?--built needs a build directory}"); shift 2 ;;
    *) echo "stranger: unknown option $1; there are --from, --minutes, --built" >&2; exit 2 ;;
  esac
done
work=$(mktemp -d)
job=''
cleanup() {
  [[ -z $job ]] || kill "$job" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
fail() {
  echo "stranger: $*" >&2
  [[ ! -s $work/said ]] || tail -n 8 "$work/said" >&2
  exit 1
}
now() { date +%s%N; }
began=$(now)
seconds() { awk -v ns=$(($(now) - $1)) 'BEGIN { printf "%.1f", ns / 1e9 }'; }
# step NAME COMMAND...: what it says goes to $work/said.
step() {
  local name=$1 since
  shift
  since=$(now)
  "$@" >"$work/said" 2>&1 || fail "\"$name\" failed: $*"
  printf '%8s s  %s\n' "$(seconds "$since")" "$name"
}

if [[ -z $built ]]; then
  step "clone" git clone -q "$from" "$work/clone"
  cd "$work/clone"
  step "install what is missing, build" ./bootstrap build
  built=$PWD/build/release
else
  cd "$root"
fi
bin=$built/bin
thermocline() { "$bin/thermocline" "$@"; }
export THERMOCLINE_SOCKET=$work/api.sock

step "what does this machine have" thermocline doctor
traces=traces/samples/held_out/kmeans
step "what would fast memory gain" thermocline estimate --slow $traces.slow.trace \
  --fast $traces.fast.trace --sweep 'fast=0..100%'
grep -q '50 %' "$work/said" || fail "no estimate at half of the memory"
step "record a job of one's own" thermocline record --source none -o "$work/job.trace" \
  -- /usr/bin/python3 -c 'print(6 * 7)'
step "look at it" thermocline info "$work/job.trace"
step "train an agent" thermocline train --quiet --option episodes=4 -o "$work/agent.pt" \
  $traces.slow.trace $traces.fast.trace

# Tiers: the host's own, or made up.
tiers=()
if [[ ! -d /sys/devices/system/node/node1 ]]; then
  cat >"$work/two.json" <<'JSON'
{"name": "made up", "tiers": [
  {"name": "near", "nodes": [0], "capacity": 67108864, "read_ns": 80, "write_ns": 80,
   "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10},
  {"name": "far", "nodes": [63], "capacity": 17179869184, "read_ns": 300, "write_ns": 300,
   "read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9}]}
JSON
  tiers=(--machine "$work/two.json" --mover dry)
fi
# Samples: the CPU's, or page faults, which every kernel counts.
source=perf:budget=100%,page-faults
thermocline doctor | grep -q '^ *ok *PMU' && source=perf
cat >"$work/job.py" <<'PYTHON'
import mmap
import time
end = time.monotonic() + 60
while time.monotonic() < end:  # until it is stopped
    memory = mmap.mmap(-1, 32 << 20)
    for page in range(0, len(memory), 4096):
        memory[page] = 1
    time.sleep(0.05)
PYTHON
since=$(now)
"$bin/thermocline" run --agent "$work/agent.pt" --source "$source" "${tiers[@]}" \
  -- /usr/bin/python3 "$work/job.py" >"$work/run" 2>&1 &
job=$!
placed=''
for _ in $(seq 600); do
  kill -0 "$job" 2>/dev/null || fail "the job did not run: $(tail -n 3 "$work/run")"
  if thermocline query heat --json >"$work/said" 2>&1; then
    placed=$(/usr/bin/python3 -c '
import json, sys
hot = [one for one in json.load(sys.stdin)["regions"] if one["heat_ns"] > 0]
print(hex(hot[0]["start"]) if hot else "")' <"$work/said") || true
    [[ -z $placed ]] || break
  fi
  sleep 0.1
done
[[ -n $placed ]] || fail "no memory of the job was seen in a minute"
printf '%8s s  %s\n' "$(seconds "$since")" "run it under the agent, until its memory is known"
step "ask why it lies where it does" thermocline query explain "$placed"
why=$(sed 's/^/            /' "$work/said")
step "ask how it goes" thermocline query status
kill -INT "$job"
wait "$job" 2>/dev/null || true
job=''
total=$(seconds "$began")
printf '%s\n' "$why"
awk -v took="$total" -v limit="$minutes" 'BEGIN { exit !(took <= limit * 60) }' ||
  fail "$total s in all; more than $minutes minutes"
echo "stranger: a job's memory is placed, $total s in all"
