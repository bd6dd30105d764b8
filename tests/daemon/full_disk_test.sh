#!/usr/bin/env bash
# The disk of a thermoclined's state is full: a small file system of its own,
# in a mount namespace. Not started on one without room; not stopped, nor robbed
# of its state, by one that fills up later.
#   full_disk_test.sh BIN_DIRECTORY
set -euo pipefail
bin=$(realpath "$1")
if [[ -z ${IN_NAMESPACE:-} ]]; then
  as_root=()
  ((EUID == 0)) || as_root=(--user --map-root-user)
  IN_NAMESPACE=1 exec unshare --mount "${as_root[@]}" "$0" "$bin"
fi
place=$(mktemp -d)
job=
daemon=
trap '{ kill -9 $job $daemon; wait; } 2>/dev/null; umount "$place" 2>/dev/null; rmdir "$place"' EXIT
fail() {
  echo "full_disk_test: $*"
  cat "$log" 2>/dev/null || true
  exit 1
}
log=/dev/null

# The pool takes 64 MiB.
mount -t tmpfs -o size=32M tmpfs "$place"
log=$(mktemp)
code=0
timeout 30 "$bin/thermoclined" --mover dry --socket "$place/api.sock" --state "$place/state" \
  2>"$log" || code=$?
[[ $code == 1 ]] || fail "started without room: $code"
grep -q 'No space left' "$log" || fail "it does not say that there is no room"
[[ ! -e $place/state ]] || fail "half a state stays"
umount "$place"

start_daemon() { # OPTION...
  rm -f "$log.ready"
  "$bin/thermoclined" --mover dry --interval 50 --socket "$place/api.sock" \
    --state "$place/state" --ready-fd 9 "$@" 9>"$log.ready" 2>"$log" &
  daemon=$!
  until [[ -s $log.ready ]]; do
    kill -0 "$daemon" 2>/dev/null || fail "it ended"
    sleep 0.05
  done
}
targets() {
  "$bin/thermocline" query status --json --socket "$place/api.sock" |
    /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["targets"])'
}

mount -t tmpfs -o size=80M tmpfs "$place"
sleep 1000 &
job=$!
start_daemon --pid "$job"
cat /dev/zero >"$place/fill" 2>/dev/null || true
free=$(stat --file-system --format=%a "$place")
[[ $free == 0 ]] || fail "$free blocks are free"
# A state is written about once a second.
sleep 3
[[ $(targets) == "[$job]" ]] || fail "it does not go on: $(targets)"
! grep -q 'No space' "$log" || fail "a write of its state failed"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
start_daemon
[[ $(targets) == "[$job]" ]] || fail "it did not resume: $(targets)"
! grep -q damaged "$log" || fail "its state was damaged"
kill "$daemon"
wait "$daemon" || fail "it ended badly"
rm -f "$log" "$log.ready"
echo "full_disk_test: refused without room, resumed on a disk that became full"
