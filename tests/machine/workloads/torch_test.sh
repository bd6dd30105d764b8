#!/bin/sh
# torch_test.sh NAME: a torch workload trains, its loss falls, and two runs give
# the same bits, also when the second warms up and waits for whoever measures.
set -eu
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Whoever measures has it wait for a byte before the steps, one when it is warm,
# and one after.
mkfifo "$out/go"
exec 3<>"$out/go"
for run in 1 2; do
  if [ $run = 2 ]; then
    export WORKLOAD_GO="$out/go"
    printf 123 >&3
    set -- "$1" --warm=2
  fi
  /usr/bin/python3 -B "$here/torch_training.py" "$@" --size 8 --steps 4 --seed 7 \
    >"$out/$run"
  sed -i 's/ seconds .*//' "$out/$run"
done
printf 4 >&3
[ "$(head -c 1 <&3)" = 4 ]
[ "$(grep -n '^warm$' "$out/2")" = 4:warm ]
grep -v '^warm$' "$out/2" | cmp "$out/1"
[ "$(head -n 1 "$out/1")" = "workload $1: 8 MiB, 4 steps, seed 7" ]
[ "$(grep -c '^step [0-3] checksum 0x[0-9a-f]\{16\}$' "$out/1")" = 4 ]
tail -n 1 "$out/1" | grep -q '^checksum 0x[0-9a-f]\{16\}$'
