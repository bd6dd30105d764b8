#!/bin/bash
# Runs inside the machine: a distributed job beside a real thermoclined, whose
# only news of it is what it tells, and which shares its budget with it.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/../.."
bin=$PWD/build/release/bin
. tests/machine/fast_memory
fail() { echo "job_test: $*"; cat /tmp/daemon.log; exit 1; }

python3 tests/machine/describe optane 1024 512 >/tmp/machine.json

# start_daemon OPTION...: and waits until it answers.
start_daemon() {
  "$bin/thermoclined" --machine /tmp/machine.json --source none --interval 500 \
    --socket /tmp/api.sock --ready-fd 9 "$@" 9>/tmp/ready 2>/tmp/daemon.log &
  daemon=$!
  until [[ -s /tmp/ready ]]; do
    sleep 0.2
    kill -0 $daemon 2>/dev/null || fail "the daemon ended"
  done
}
end_daemon() {
  kill $daemon
  wait $daemon || fail "the daemon failed"
  rm /tmp/ready
}

# Hot rows lie in fast memory when there is room for little else: of one rank, and
# of two that a rule finds. What is free is all the room there is: files that the
# kernel would give up for it are in slow memory.
echo '{"targets": [{"exe": "told_rows_job", "least": 1048576}]}' >/tmp/daemon.json
room=$((8 << 20))
echo 3 >/proc/sys/vm/drop_caches
{ printf '%s\n' "$bin"/{told_rows_job,thermoclined} /usr/bin/{python3,bash,orterun} &&
  ldd "$bin/told_rows_job" "$bin/thermoclined" /usr/bin/orterun | awk '$3 ~ "/" {print $3}' &&
  ls /usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3/*.so; } |
  sort -u | read_beforehand
for ranks in 1 2; do
  leave_free $((ranks * (64 << 20))) /tmp/free
  start_daemon --config /tmp/daemon.json --reclaim 0
  mkfifo /tmp/said
  tests/training/mpirun $ranks 200 "$bin/told_rows_job" /tmp/api.sock $room >/tmp/said &
  job=$!
  while read -r line; do
    echo "$line"
    [[ $line != prepared ]] || printf '%s\n' $((ranks * room)) >&"$hold"
  done </tmp/said
  wait $job || fail "told rows, $ranks ranks"
  end_daemon
  finish
  rm /tmp/said
done

# Moves, checkpoints, exchange and updates within one budget, which says who has it.
unbraked=(--without residence --without ping_pong --without no_payback --without slowdown
  --without thrashing --without pressure --without oom_margin)
start_daemon --policy all_fast --budget 16M "${unbraked[@]}"
"$bin/four_copiers" /tmp/api.sock >/tmp/said &
job=$!
"$bin/thermocline" query attach --pid $job --socket /tmp/api.sock >/tmp/attached ||
  fail "not attached"
until grep -q measuring /tmp/said; do
  sleep 0.5
  kill -0 $job 2>/dev/null || fail "$(cat /tmp/said)"
done
"$bin/thermocline" budget --socket /tmp/api.sock | tee /tmp/budget
wait $job || fail "$(cat /tmp/said)"
cat /tmp/said
for name in migration 'checkpoints of' 'exchange of' 'updates of'; do
  grep -q "^  $name" /tmp/budget || fail "no $name in $(cat /tmp/budget)"
done
end_daemon
